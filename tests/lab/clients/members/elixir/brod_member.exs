# A consumer of brod under Elixir's Logger, supervised as an application.
defmodule Orders.Consumer do
  @behaviour :brod_group_subscriber_v2

  def child_spec(_) do
    config = %{
      client: :kafka_client,
      group_id: System.fetch_env!("GROUP"),
      topics: [System.fetch_env!("TOPIC")],
      cb_module: __MODULE__,
      consumer_config: [begin_offset: :earliest],
      init_data: [],
      message_type: :message,
      group_config: [session_timeout_seconds: 6, heartbeat_rate_seconds: 1] ++ dynamic()
    }

    %{id: __MODULE__, start: {:brod_group_subscriber_v2, :start_link, [config]}}
  end

  # Unless told otherwise, brod makes up an id of a static member.
  defp dynamic, do: if(System.get_env("DYNAMIC"), do: [group_instance_id: :null], else: [])

  @impl true
  def init(_, _), do: {:ok, []}

  @impl true
  def handle_message(_, state) do
    stall = System.fetch_env!("STALL")

    # There is a worker for each partition; one of them takes the file.
    with {:ok, seconds} <- File.read(stall), :ok <- File.rm(stall) do
      Process.sleep(String.to_integer(seconds) * 1000)
    end

    {:ok, :commit, state}
  end
end

defmodule Orders.Application do
  use Application

  @impl true
  def start(_, _) do
    [host, port] = "BOOTSTRAP" |> System.fetch_env!() |> String.split(":")
    :ok = :brod.start_client([{host, String.to_integer(port)}], :kafka_client, client_id: System.fetch_env!("CLIENT"))
    Supervisor.start_link([Orders.Consumer], strategy: :one_for_one)
  end
end

Logger.configure(level: :info)
Logger.configure_backend(:console, format: "$date $time [$level] $message\n")
:ok = :application.load({:application, :orders, [mod: {Orders.Application, []}, applications: [:logger, :brod]]})
{:ok, _} = Application.ensure_all_started(:orders)
Process.sleep(:infinity)
