// Drives the released group coordinator of one version with random heartbeats and prints what it did, a trace a line.
//
// Arguments: protocol (share or streams), version, first seed, number of traces, steps a trace.
// Only names that the versions share are used directly; what moved between them is reached by reflection.

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.function.Function;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.message.*;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RemoveTopicRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.common.runtime.CoordinatorResult;
import org.apache.kafka.coordinator.group.GroupConfigManager;
import org.apache.kafka.coordinator.group.GroupCoordinatorConfig;
import org.apache.kafka.coordinator.group.GroupCoordinatorShard;
import org.apache.kafka.coordinator.group.metrics.GroupCoordinatorMetrics;
import org.apache.kafka.coordinator.group.streams.StreamsGroupHeartbeatResult;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.server.share.persister.InitializeShareGroupStateParameters;
import org.apache.kafka.timeline.SnapshotRegistry;

public class Recorder {
    static final String GROUP = "g1";
    static final long START_MS = 1_000;
    static final ByteArrayOutputStream LOGGED = new ByteArrayOutputStream();

    final Random random;
    final String protocol;
    final String version;
    final Map<String, Object> config = new LinkedHashMap<>();
    final SnapshotRegistry registry;
    final GroupCoordinatorShard shard;
    final Object manager;
    final GroupConfigManager groupConfigs;
    final Map<String, Integer> topics = new TreeMap<>();
    final List<String> topicNames = new ArrayList<>();
    final Map<String, Pending> timers = new LinkedHashMap<>();
    MetadataImage image = MetadataImage.EMPTY;
    long now = START_MS;
    long offset = 0;
    int requests = 0;
    int places = 0;
    Map<String, Object> step;
    String shown = "";

    record Pending(String key, long at, int place, Object operation) { }

    public static void main(String[] args) throws Exception {
        PrintStream shown = System.err;
        System.setErr(new PrintStream(LOGGED, true, StandardCharsets.UTF_8));
        Thread.setDefaultUncaughtExceptionHandler((thread, failure) -> failure.printStackTrace(shown));
        long first = Long.parseLong(args[2]);
        for (long seed = first; seed < first + Long.parseLong(args[3]); seed++) {
            System.out.println(json(new Recorder(args[0], args[1], seed).trace(seed, Integer.parseInt(args[4]))));
        }
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    Recorder(String protocol, String version, long seed) throws Exception {
        this.protocol = protocol;
        this.version = version;
        this.random = new Random(seed * 7919 + protocol.hashCode());
        configure();
        Map<String, String> properties = new HashMap<>();
        config.forEach((name, value) -> properties.put(name, String.valueOf(value)));
        properties.put("group.coordinator.rebalance.protocols", "classic,consumer,share,streams");
        GroupCoordinatorConfig settings = GroupCoordinatorConfig.fromProps(properties);
        this.groupConfigs = groupConfigs(settings, properties);
        Object builder = new GroupCoordinatorShard.Builder(settings, groupConfigs);
        this.registry = (SnapshotRegistry) SnapshotRegistry.class.getConstructors()[0].newInstance(context());
        with(builder, "withSnapshotRegistry", type -> registry);
        with(builder, "withLogContext", type -> context(type));
        with(builder, "withTime", type -> proxy(type, this::clock));
        with(builder, "withTimer", type -> proxy(type, this::timer));
        with(builder, "withExecutor", type -> proxy(type, (method, given) -> method.equals("schedule") ? true : method.equals("isScheduled") ? false : null));
        with(builder, "withCoordinatorMetrics", type -> new GroupCoordinatorMetrics());
        with(builder, "withTopicPartition", type -> new org.apache.kafka.common.TopicPartition("__consumer_offsets", 0));
        with(builder, "withAuthorizerPlugin", type -> Optional.empty());
        this.shard = ((GroupCoordinatorShard.Builder) builder).build();
        this.manager = field(shard, "groupMetadataManager");
        Method loaded = method(shard.getClass(), "onLoaded");
        loaded.invoke(shard, coordinatorImage(loaded.getParameterTypes()[0], image));
        LOGGED.reset();
    }

    void configure() {
        config.put("group." + protocol + ".session.timeout.ms", pick(45_000, 50_000));
        config.put("group." + protocol + ".heartbeat.interval.ms", 5_000);
        config.put("group." + protocol + ".max.size", pick(100, 100, 3));
        config.put("group." + protocol + ".assignment.interval.ms", pick(0, 1_000, 5_000));
        if (protocol.equals("streams")) {
            config.put("group.streams.num.standby.replicas", pick(0, 0, 1));
            config.put("group.streams.initial.rebalance.delay.ms", pick(0, 3_000));
            if (version.compareTo("4.4") >= 0) config.put("group.streams.num.warmup.replicas", pick(1, 2));
        }
    }

    // -- a trace -----------------------------------------------------------------------------------------------------

    Map<String, Object> trace(long seed, int length) throws Exception {
        Clients clients = protocol.equals("share") ? new ShareClients() : new StreamsClients();
        List<Object> steps = new ArrayList<>();
        for (Map<String, Object> operation : clients.first()) steps.add(perform(operation, clients));
        while (steps.size() < length) steps.add(perform(clients.next(), clients));
        Map<String, Object> trace = new LinkedHashMap<>();
        trace.put("id", protocol + "-" + seed);
        trace.put("source", "kafka " + version + " " + protocol);
        trace.put("seed", seed);
        trace.put("start_ms", START_MS);
        trace.put("config", config);
        trace.put("steps", steps);
        return trace;
    }

    Map<String, Object> perform(Map<String, Object> operation, Clients clients) throws Exception {
        step = new LinkedHashMap<>();
        step.put("t", now);
        step.put("op", operation);
        step.put("responses", new ArrayList<>());
        step.put("fired", new ArrayList<>());
        step.put("records", new ArrayList<>());
        switch ((String) operation.get("op")) {
            case "advance" -> fireUntil(now + (int) operation.get("ms"));
            case "set_topic" -> setTopic((String) operation.get("topic"), (int) operation.get("partitions"));
            case "set_config" -> setConfig((int) operation.get("standby_replicas"));
            default -> clients.send(operation);
        }
        if (!operation.get("op").equals("advance")) fireUntil(now);
        step.put("t_end", now);
        step.put("log", logged());
        step.values().removeIf(value -> value instanceof Collection<?> items && items.isEmpty());
        Map<String, Object> state = state();
        if (!json(state).equals(shown)) step.put("state", state);
        shown = json(state);
        return step;
    }

    void setConfig(int replicas) {
        Properties properties = new Properties();
        for (String name : List.of("session.timeout.ms", "heartbeat.interval.ms", "assignment.interval.ms", "initial.rebalance.delay.ms")) {
            properties.put("streams." + name, String.valueOf(config.get("group.streams." + name)));
        }
        properties.put("streams.num.standby.replicas", String.valueOf(replicas));
        groupConfigs.updateGroupConfig(GROUP, properties);
    }

    void setTopic(String topic, int partitions) throws Exception {
        int known = topics.getOrDefault(topic, 0);
        if (partitions != 0 && partitions <= known || partitions == 0 && known == 0) return;
        MetadataDelta delta = new MetadataDelta.Builder().setImage(image).build();
        if (partitions == 0) {
            delta.replay(new RemoveTopicRecord().setTopicId(topicId(topic)));
            topics.remove(topic);
        } else {
            if (known == 0) delta.replay(new TopicRecord().setName(topic).setTopicId(topicId(topic)));
            for (int number = known; number < partitions; number++) {
                delta.replay(new PartitionRecord().setTopicId(topicId(topic)).setPartitionId(number).setReplicas(List.of(1)).setIsr(List.of(1))
                    .setDirectories(List.of(Uuid.fromString("AAAAAAAAAAAAAAAAAAAAAg"))).setLeader(1).setLeaderEpoch(0).setPartitionEpoch(0));
            }
            topics.put(topic, partitions);
        }
        image = delta.apply(new MetadataProvenance(++offset, 0, 0, true));
        Method told = method(shard.getClass(), "onNewMetadataImage", "onMetadataUpdate");
        Object[] given = new Object[2];
        for (int at = 0; at < 2; at++) {
            Class<?> type = told.getParameterTypes()[at];
            given[at] = type.getSimpleName().endsWith("Image") ? coordinatorImage(type, image) : coordinatorDelta(type, delta);
        }
        told.invoke(shard, given);
        if (partitions == 0 && protocol.equals("share")) replay(shard.maybeCleanupShareGroupState(Set.of(topicId(topic))));
    }

    Uuid topicId(String topic) {
        if (!topicNames.contains(topic)) topicNames.add(topic);
        return new Uuid(4_000 + topicNames.indexOf(topic), 77);
    }

    String topicName(Uuid id) {
        return topicNames.get((int) (id.getMostSignificantBits() - 4_000));
    }

    // -- clock, timers and records -----------------------------------------------------------------------------------

    Object clock(String method, Object[] given) {
        return method.equals("nanoseconds") ? (Object) (now * 1_000_000) : (Object) now;
    }

    Object timer(String method, Object[] given) {
        String key = (String) given[0];
        if (!key.contains("-" + GROUP)) return method.equals("isScheduled") ? false : null;  // expiry of groups and counters
        switch (method) {
            case "cancel" -> timers.remove(key);
            case "isScheduled" -> { return timers.containsKey(key); }
            default -> {
                if (method.equals("schedule") || !timers.containsKey(key)) {
                    timers.put(key, new Pending(key, now + (long) given[1], places++, given[given.length - 1]));
                }
            }
        }
        return null;
    }

    @SuppressWarnings("unchecked")
    void fireUntil(long until) throws Exception {
        while (true) {
            Pending due = timers.values().stream().filter(each -> each.at <= until).min(Comparator.comparingLong(Pending::at)
                .thenComparing(each -> Map.of("session", 1, "rebalance", 3).getOrDefault(kind(each.key), 4))
                .thenComparing(each -> number(member(each.key))).thenComparing(Pending::place)).orElse(null);
            if (due == null) break;
            timers.remove(due.key);
            now = due.at;
            Map<String, Object> fired = map("t", now, "timer", kind(due.key), "group", GROUP, "member", member(due.key));
            try {
                Method generate = method(due.operation.getClass(), "generateRecords");
                replay((CoordinatorResult<?, CoordinatorRecord>) generate.invoke(due.operation));
            } catch (InvocationTargetException failure) {
                fired.put("exception", failure.getCause().getClass().getSimpleName());
            }
            ((List<Object>) step.get("fired")).add(fired);
        }
        now = Math.max(now, until);
    }

    static String kind(String key) {
        if (key.startsWith("session")) return "session";
        if (key.startsWith("rebalance")) return "rebalance";
        return "join";
    }

    static String member(String key) {
        int at = key.lastIndexOf("-" + GROUP + "-");
        return at < 0 ? "" : key.substring(at + GROUP.length() + 2);
    }

    static int number(String member) {
        return member.startsWith("M") ? Integer.parseInt(member.substring(1)) : 0;
    }

    @SuppressWarnings("unchecked")
    void replay(CoordinatorResult<?, CoordinatorRecord> result) {
        for (CoordinatorRecord each : result.records()) {
            String name = each.key().getClass().getSimpleName().replaceAll("Key$", "");
            ((List<Object>) step.get("records")).add((each.value() == null ? "-" : "") + name);
            shard.replay(offset++, -1L, (short) -1, each);
        }
    }

    @SuppressWarnings("unchecked")
    void answer(Map<String, Object> answer) {
        ((List<Object>) step.get("responses")).add(answer);
    }

    Object context(Class<?>... wanted) {
        try {
            Class<?> type = wanted.length > 0 ? wanted[0] : SnapshotRegistry.class.getConstructors()[0].getParameterTypes()[0];
            return type.getConstructor(String.class).newInstance("");
        } catch (ReflectiveOperationException failure) {
            throw new IllegalStateException(failure);
        }
    }

    static List<String> logged() {
        String text = LOGGED.toString(StandardCharsets.UTF_8);
        LOGGED.reset();
        List<String> lines = new ArrayList<>();
        for (String line : text.split("\n")) {
            if (!line.isBlank() && line.contains("coordinator.group.")) lines.add(line.replaceAll("^(\\w+) \\S*?(\\w+) - ", "$1 $2: "));
        }
        return lines;
    }

    // -- what the coordinator holds ----------------------------------------------------------------------------------

    Map<String, Object> state() throws Exception {
        Object group;
        try {
            group = call(manager, "group", GROUP);
        } catch (InvocationTargetException absent) {
            return map(GROUP, map("state", "Absent"));
        }
        Map<String, Object> shown = map("state", call(group, "stateAsString"), "epoch", call(group, "groupEpoch"),
            "assignment_epoch", call(group, "assignmentEpoch"));
        if (protocol.equals("streams")) {
            Optional<?> topology = (Optional<?>) call(group, "topology");
            shown.put("topology_epoch", topology.isPresent() ? call(topology.get(), "topologyEpoch") : null);
            if (version.compareTo("4.2") >= 0) shown.put("validated_topology_epoch", call(group, "validatedTopologyEpoch"));
        } else {
            shown.put("initialization", initialization());
        }
        Map<?, ?> targets = (Map<?, ?>) call(group, "targetAssignment");
        List<Object> members = new ArrayList<>();
        for (Object member : new TreeMap<>((Map<?, ?>) call(group, "members")).values()) {
            members.add(protocol.equals("share") ? shareMember(member, targets) : streamsMember(member, targets));
        }
        shown.put("members", members);
        shown.put("timers", timers.values().stream().sorted(Comparator.comparingLong(Pending::at).thenComparing(Pending::key))
            .map(each -> map("timer", kind(each.key), "member", member(each.key), "at", each.at)).toList());
        return map(GROUP, shown);
    }

    Map<String, Object> initialization() throws Exception {
        Object info = ((Map<?, ?>) field(manager, "shareGroupStatePartitionMetadata")).get(GROUP);
        if (info == null) return map("initializing", map(), "initialized", map());
        return map("initializing", partitions((Map<?, ?>) call(info, "initializingTopics")), "initialized", partitions((Map<?, ?>) call(info, "initializedTopics")));
    }

    Map<String, Object> shareMember(Object member, Map<?, ?> targets) throws Exception {
        Object target = targets.get(call(member, "memberId"));
        return map("member", call(member, "memberId"), "epoch", call(member, "memberEpoch"), "previous_epoch", call(member, "previousMemberEpoch"),
            "state", call(member, "state").toString(), "subscribed", new TreeSet<>((Set<?>) call(member, "subscribedTopicNames")),
            "assigned", partitions((Map<?, ?>) call(member, "assignedPartitions")),
            "target", target == null ? map() : partitions((Map<?, ?>) call(target, "partitions")));
    }

    Map<String, Object> streamsMember(Object member, Map<?, ?> targets) throws Exception {
        return map("member", call(member, "memberId"), "instance", ((Optional<?>) call(member, "instanceId")).orElse(null), "epoch", call(member, "memberEpoch"),
            "previous_epoch", call(member, "previousMemberEpoch"), "state", call(member, "state").toString(), "process", call(member, "processId"),
            "topology_epoch", call(member, "topologyEpoch"), "assigned", tasks(call(member, "assignedTasks")),
            "pending_revocation", tasks(call(member, "tasksPendingRevocation")), "target", tasks(targets.get(call(member, "memberId"))));
    }

    Map<String, Object> partitions(Map<?, ?> byTopic) throws Exception {
        Map<String, Object> shown = new TreeMap<>();
        for (Map.Entry<?, ?> each : byTopic.entrySet()) {
            Object held = each.getValue() instanceof Set ? each.getValue() : call(each.getValue(), "partitions");
            if (!((Set<?>) held).isEmpty()) shown.put(topicName((Uuid) each.getKey()), new TreeSet<>((Set<?>) held));
        }
        return shown;
    }

    Map<String, Object> tasks(Object tuple) throws Exception {
        Map<String, Object> shown = map();
        for (String kind : List.of("active", "standby", "warmup")) {
            if (tuple == null) continue;
            String name = kind + "Tasks" + (kind.equals("active") && has(tuple, "activeTasksWithEpochs") ? "WithEpochs" : "");
            Map<String, Object> held = new TreeMap<>();
            for (Map.Entry<?, ?> each : ((Map<?, ?>) call(tuple, name)).entrySet()) {
                Set<?> numbers = each.getValue() instanceof Map<?, ?> byTask ? byTask.keySet() : (Set<?>) each.getValue();
                if (!numbers.isEmpty()) held.put((String) each.getKey(), new TreeSet<>(numbers));
            }
            if (!held.isEmpty()) shown.put(kind, held);
        }
        return shown;
    }

    // -- clients -----------------------------------------------------------------------------------------------------

    abstract class Clients {
        final Map<String, Integer> epochs = new LinkedHashMap<>();
        int members = 0;

        abstract List<Map<String, Object>> first();
        abstract Map<String, Object> join();
        abstract Map<String, Object> beat(String member);
        abstract Map<String, Object> other();
        abstract void send(Map<String, Object> operation) throws Exception;

        Map<String, Object> next() {
            int chance = random.nextInt(100);
            if (epochs.isEmpty() || chance < 9 && epochs.size() < 5) return join();
            if (chance < 32) return map("op", "advance", "ms", pick(1, 40, 500, 999, 1_000, 2_500, 3_000));
            if (chance < 36) return map("op", "advance", "ms", pick(5_000, 20_000, 44_999, 45_000, 60_000, 300_000));
            if (chance < 42) return map("op", "set_topic", "topic", topicChoice(), "partitions", pick(0, 1, 2, 3, 4, 5));
            if (chance < 55) return other();
            String member = pick(epochs.keySet().toArray(new String[0]));
            return chance < 62 ? leave(member) : beat(member);
        }

        String topicChoice() {
            return pick("t1", "t2", "t3");
        }

        Map<String, Object> leave(String member) {
            return request("member", member, "epoch", -1);
        }

        Map<String, Object> request(Object... fields) {
            Map<String, Object> made = map("op", protocol + "_heartbeat", "req", ++requests, "group", GROUP);
            for (int at = 0; at < fields.length; at += 2) made.put((String) fields[at], fields[at + 1]);
            return made;
        }

        int epoch(String member) {
            int epoch = epochs.get(member);
            return random.nextInt(30) > 0 ? epoch : Math.max(epoch + pick(-2, -1, 1), 0);
        }

        void learn(Map<String, Object> operation, int epoch) {
            if ((int) operation.get("epoch") < 0) epochs.remove((String) operation.get("member"));
            else epochs.put((String) operation.get("member"), epoch);
        }

        void refused(Map<String, Object> operation, Throwable failure) {
            Errors error = Errors.forException(failure);
            answer(map("req", operation.get("req"), "t", now, "error", error.name()));
            if (error == Errors.FENCED_MEMBER_EPOCH || error == Errors.UNKNOWN_MEMBER_ID || error == Errors.GROUP_ID_NOT_FOUND) {
                epochs.computeIfPresent((String) operation.get("member"), (member, epoch) -> 0);
            } else if (error == Errors.GROUP_MAX_SIZE_REACHED || error == Errors.INVALID_REQUEST || error == Errors.UNRELEASED_INSTANCE_ID || error == Errors.FENCED_INSTANCE_ID) {
                epochs.remove((String) operation.get("member"));
            }
        }

        <T> T handed(Map<String, Object> operation, String method, Object request) throws Exception {
            Method found = method(shard.getClass(), method);
            Object context = proxy(found.getParameterTypes()[0], (name, given) -> switch (name) {
                case "clientId" -> "client";
                case "clientAddress" -> java.net.InetAddress.getLoopbackAddress();
                case "requestVersion" -> 0;
                default -> null;
            });
            try {
                @SuppressWarnings("unchecked")
                CoordinatorResult<T, CoordinatorRecord> result = (CoordinatorResult<T, CoordinatorRecord>) found.invoke(shard, context, request);
                replay(result);
                return result.response();
            } catch (InvocationTargetException failure) {
                refused(operation, failure.getCause());
                return null;
            }
        }
    }

    class ShareClients extends Clients {
        final List<Map<Uuid, Set<Integer>>> uninitialized = new ArrayList<>();

        List<Map<String, Object>> first() {
            return List.of(map("op", "set_topic", "topic", "t1", "partitions", pick(1, 3, 4)), map("op", "set_topic", "topic", "t2", "partitions", 2));
        }

        Map<String, Object> join() {
            return request("member", "M" + ++members, "epoch", 0, "topics", topicSet());
        }

        List<String> topicSet() {
            return pick(List.of("t1"), List.of("t1"), List.of("t1", "t2"), List.of("t2"), List.of("t3"), List.of("t1", "t2", "t3"));
        }

        Map<String, Object> beat(String member) {
            int epoch = epoch(member);
            int chance = random.nextInt(12);
            List<String> told = epoch == 0 || chance == 0 ? topicSet() : null;
            return request("member", random.nextInt(60) > 0 ? member : "M999", "epoch", epoch, "topics", told);
        }

        Map<String, Object> other() {
            if (uninitialized.isEmpty()) return map("op", "advance", "ms", 100);
            Map<Uuid, Set<Integer>> taken = uninitialized.remove(0);
            Map<String, Object> named = new TreeMap<>();
            taken.forEach((id, numbers) -> named.put(topicName(id), new TreeSet<>(numbers)));
            return map("op", random.nextInt(6) > 0 ? "initialized" : "uninitialized", "group", GROUP, "topics", named);
        }

        @SuppressWarnings("unchecked")
        void send(Map<String, Object> operation) throws Exception {
            if (!operation.get("op").equals("share_heartbeat")) {
                Map<Uuid, Set<Integer>> given = new HashMap<>();
                ((Map<String, Set<Integer>>) operation.get("topics")).forEach((name, numbers) -> given.put(topicId(name), numbers));
                try {
                    replay(operation.get("op").equals("initialized") ? shard.initializeShareGroupState(GROUP, given) : shard.uninitializeShareGroupState(GROUP, given));
                } catch (RuntimeException failure) {
                    step.put("exception", failure.getClass().getSimpleName());
                }
                return;
            }
            ShareGroupHeartbeatRequestData request = new ShareGroupHeartbeatRequestData().setGroupId(GROUP).setMemberId((String) operation.get("member"))
                .setMemberEpoch((int) operation.get("epoch")).setSubscribedTopicNames((List<String>) operation.get("topics"));
            Map.Entry<ShareGroupHeartbeatResponseData, Optional<InitializeShareGroupStateParameters>> response = handed(operation, "shareGroupHeartbeat", request);
            if (response == null) return;
            ShareGroupHeartbeatResponseData told = response.getKey();
            Map<Uuid, Set<Integer>> asked = new HashMap<>();
            response.getValue().ifPresent(parameters -> parameters.groupTopicPartitionData().topicsData().forEach(topic ->
                topic.partitions().forEach(each -> asked.computeIfAbsent(topic.topicId(), id -> new TreeSet<>()).add(each.partition()))));
            if (!asked.isEmpty()) uninitialized.add(asked);
            learn(operation, told.memberEpoch());
            Map<String, Object> assignment = null;
            if (told.assignment() != null) {
                assignment = new TreeMap<>();
                for (var each : told.assignment().topicPartitions()) assignment.put(topicName(each.topicId()), new TreeSet<>(each.partitions()));
            }
            answer(map("req", operation.get("req"), "t", now, "error", "NONE", "member", told.memberId(), "member_epoch", told.memberEpoch(),
                "heartbeat_interval_ms", told.heartbeatIntervalMs(), "assignment", assignment, "initialize", partitions(asked)));
        }
    }

    class StreamsClients extends Clients {
        final Map<String, Map<String, Object>> owned = new HashMap<>();
        final Map<String, Integer> missing = new TreeMap<>();
        final Map<String, String> instances = new HashMap<>();
        final int shape = random.nextInt(3);

        List<Map<String, Object>> first() {
            return List.of(map("op", "set_topic", "topic", "t1", "partitions", pick(1, 2, 4)));
        }

        String topicChoice() {
            return pick("t1", "t1", "t2", "store", "through");
        }

        Map<String, Object> topology(int epoch, int shape) {
            Map<String, Object> zero = map("id", "0", "sources", List.of("t1"), "repartition_sources", map(), "sinks", shape == 2 ? List.of("through") : List.of(),
                "changelogs", shape == 1 ? List.of("store") : List.of());
            if (shape < 2) return map("epoch", epoch, "subtopologies", List.of(zero));
            Map<String, Object> one = map("id", "1", "sources", List.of(), "repartition_sources", map("through", 0), "sinks", List.of(), "changelogs", List.of("store"));
            return map("epoch", epoch, "subtopologies", List.of(zero, one));
        }

        Map<String, Object> join() {
            String member = "M" + ++members;
            if (version.compareTo("4.4") >= 0 && random.nextInt(3) == 0) instances.put(member, pick("i", "j"));
            return joining(member);
        }

        Map<String, Object> joining(String member) {
            int odd = random.nextInt(25);
            Map<String, Object> topology = topology(odd == 0 ? 0 : 1, odd == 1 ? (shape + 1) % 3 : shape);
            owned.put(member, map());
            return request("member", member, "epoch", 0, "instance", instances.get(member), "rebalance_ms", pick(20_000, 60_000), "topology", topology,
                "process", "p" + number(member) % 3, "owned", map(), "shutdown", false);
        }

        Map<String, Object> beat(String member) {
            int epoch = epoch(member);
            if (epoch == 0) return joining(member);
            Map<String, Object> told = random.nextInt(3) == 0 ? null : owned.getOrDefault(member, map());
            return request("member", member, "epoch", epoch, "instance", instances.get(member), "rebalance_ms", -1, "topology", null,
                "process", null, "owned", told, "shutdown", random.nextInt(120) == 0);
        }

        Map<String, Object> leave(String member) {
            String instance = instances.get(member);
            return request("member", member, "epoch", instance != null && random.nextInt(3) > 0 ? -2 : -1, "instance", instance, "rebalance_ms", -1,
                "topology", null, "process", null, "owned", null, "shutdown", random.nextInt(30) == 0);
        }

        Map<String, Object> other() {
            if (!missing.isEmpty() && random.nextInt(3) > 0) {
                String topic = missing.keySet().iterator().next();
                int partitions = missing.remove(topic);
                return map("op", "set_topic", "topic", topic, "partitions", random.nextInt(8) > 0 ? partitions : partitions + 1);
            }
            if (random.nextInt(6) == 0 && version.compareTo("4.2") >= 0) return map("op", "set_config", "standby_replicas", pick(0, 1));
            return map("op", "advance", "ms", 100);
        }

        @SuppressWarnings("unchecked")
        void send(Map<String, Object> operation) throws Exception {
            Map<String, Object> told = (Map<String, Object>) operation.get("owned");
            StreamsGroupHeartbeatRequestData request = new StreamsGroupHeartbeatRequestData().setGroupId(GROUP).setMemberId((String) operation.get("member"))
                .setMemberEpoch((int) operation.get("epoch")).setInstanceId((String) operation.get("instance"))
                .setRebalanceTimeoutMs((int) operation.getOrDefault("rebalance_ms", -1)).setProcessId((String) operation.get("process"))
                .setShutdownApplication((boolean) operation.getOrDefault("shutdown", false)).setTopology(topologyOf((Map<String, Object>) operation.get("topology")))
                .setActiveTasks(ids(told, "active")).setStandbyTasks(ids(told, "standby")).setWarmupTasks(ids(told, "warmup"));
            StreamsGroupHeartbeatResult result = handed(operation, "streamsGroupHeartbeat", request);
            if (result == null) return;
            StreamsGroupHeartbeatResponseData response = (StreamsGroupHeartbeatResponseData) call(result, "data");
            learn(operation, response.memberEpoch());
            Map<String, Object> created = new TreeMap<>();
            ((Map<String, CreateTopicsRequestData.CreatableTopic>) call(result, "creatableTopics")).forEach((name, topic) -> created.put(name, topic.numPartitions()));
            created.forEach((name, count) -> missing.put(name, (Integer) count));
            Map<String, Object> given = null;
            if (response.activeTasks() != null) {
                given = map();
                put(given, "active", response.activeTasks());
                put(given, "standby", response.standbyTasks());
                put(given, "warmup", response.warmupTasks());
                if (random.nextInt(6) > 0) owned.put((String) operation.get("member"), given);
            }
            List<Object> status = new ArrayList<>();
            if (response.status() != null) response.status().forEach(each -> status.add((int) each.statusCode()));
            answer(map("req", operation.get("req"), "t", now, "error", "NONE", "member", response.memberId(), "member_epoch", response.memberEpoch(),
                "heartbeat_interval_ms", response.heartbeatIntervalMs(), "tasks", given, "status", status, "create", created));
        }

        void put(Map<String, Object> given, String kind, List<StreamsGroupHeartbeatResponseData.TaskIds> tasks) {
            Map<String, Object> held = new TreeMap<>();
            for (var each : tasks) if (!each.partitions().isEmpty()) held.put(each.subtopologyId(), new TreeSet<>(each.partitions()));
            if (!held.isEmpty()) given.put(kind, held);
        }

        @SuppressWarnings("unchecked")
        List<StreamsGroupHeartbeatRequestData.TaskIds> ids(Map<String, Object> told, String kind) {
            if (told == null) return null;
            List<StreamsGroupHeartbeatRequestData.TaskIds> made = new ArrayList<>();
            ((Map<String, Set<Integer>>) told.getOrDefault(kind, map())).forEach((id, numbers) ->
                made.add(new StreamsGroupHeartbeatRequestData.TaskIds().setSubtopologyId(id).setPartitions(new ArrayList<>(numbers))));
            return made;
        }

        @SuppressWarnings("unchecked")
        StreamsGroupHeartbeatRequestData.Topology topologyOf(Map<String, Object> told) {
            if (told == null) return null;
            List<StreamsGroupHeartbeatRequestData.Subtopology> parts = new ArrayList<>();
            for (Map<String, Object> each : (List<Map<String, Object>>) told.get("subtopologies")) {
                List<StreamsGroupHeartbeatRequestData.TopicInfo> through = new ArrayList<>();
                ((Map<String, Integer>) each.get("repartition_sources")).forEach((name, count) ->
                    through.add(new StreamsGroupHeartbeatRequestData.TopicInfo().setName(name).setPartitions(count)));
                List<StreamsGroupHeartbeatRequestData.TopicInfo> kept = new ArrayList<>();
                ((List<String>) each.get("changelogs")).forEach(name -> kept.add(new StreamsGroupHeartbeatRequestData.TopicInfo().setName(name).setPartitions(0)));
                parts.add(new StreamsGroupHeartbeatRequestData.Subtopology().setSubtopologyId((String) each.get("id")).setSourceTopics((List<String>) each.get("sources"))
                    .setRepartitionSinkTopics((List<String>) each.get("sinks")).setRepartitionSourceTopics(through).setStateChangelogTopics(kept));
            }
            return new StreamsGroupHeartbeatRequestData.Topology().setEpoch((int) told.get("epoch")).setSubtopologies(parts);
        }
    }

    // -- reflection --------------------------------------------------------------------------------------------------

    interface Handler {
        Object handle(String method, Object[] given) throws Throwable;
    }

    static Object proxy(Class<?> type, Handler handler) {
        return Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (self, method, given) -> handler.handle(method.getName(), given));
    }

    static void with(Object builder, String name, Function<Class<?>, Object> made) throws Exception {
        Method found = method(builder.getClass(), name);
        found.invoke(builder, made.apply(found.getParameterTypes()[0]));
    }

    static Method method(Class<?> type, String... names) {
        for (Class<?> each = type; each != null; each = each.getSuperclass()) {
            for (Method method : each.getDeclaredMethods()) {
                if (List.of(names).contains(method.getName()) && !method.isBridge()) {
                    method.setAccessible(true);
                    return method;
                }
            }
        }
        throw new IllegalStateException("no method " + List.of(names) + " in " + type);
    }

    static boolean has(Object target, String name) {
        return Arrays.stream(target.getClass().getMethods()).anyMatch(each -> each.getName().equals(name));
    }

    static Object call(Object target, String name, Object... given) throws Exception {
        for (Class<?> each = target.getClass(); each != null; each = each.getSuperclass()) {
            for (Method method : each.getDeclaredMethods()) {
                if (method.getName().equals(name) && method.getParameterCount() == given.length && !method.isBridge()) {
                    method.setAccessible(true);
                    return method.invoke(target, given);
                }
            }
        }
        throw new IllegalStateException("no method " + name + " in " + target.getClass());
    }

    static Object field(Object target, String name) throws Exception {
        Field found = target.getClass().getDeclaredField(name);
        found.setAccessible(true);
        return found.get(target);
    }

    static GroupConfigManager groupConfigs(GroupCoordinatorConfig settings, Map<String, String> properties) throws Exception {
        var made = GroupConfigManager.class.getConstructors()[0];
        Object[] given = new Object[made.getParameterCount()];
        for (int at = 0; at < given.length; at++) {
            Class<?> type = made.getParameterTypes()[at];
            given[at] = type == GroupCoordinatorConfig.class ? settings : type == Map.class ? new HashMap<>() : shareConfig(type, properties);
        }
        return (GroupConfigManager) made.newInstance(given);
    }

    static Object shareConfig(Class<?> type, Map<String, String> properties) throws Exception {
        ConfigDef definition = new ConfigDef(GroupCoordinatorConfig.CONFIG_DEF);
        ((ConfigDef) type.getField("CONFIG_DEF").get(null)).configKeys().values().forEach(definition::define);
        return type.getConstructors()[0].newInstance(new AbstractConfig(definition, properties, false));
    }

    static Object coordinatorImage(Class<?> type, MetadataImage image) throws Exception {
        if (type == MetadataImage.class) return image;
        return Class.forName("org.apache.kafka.coordinator.common.runtime.KRaftCoordinatorMetadataImage").getConstructor(MetadataImage.class).newInstance(image);
    }

    static Object coordinatorDelta(Class<?> type, MetadataDelta delta) throws Exception {
        if (type == MetadataDelta.class) return delta;
        return Class.forName("org.apache.kafka.coordinator.common.runtime.KRaftCoordinatorMetadataDelta").getConstructor(MetadataDelta.class).newInstance(delta);
    }

    // -- text --------------------------------------------------------------------------------------------------------

    @SafeVarargs
    final <T> T pick(T... given) {
        return given[random.nextInt(given.length)];
    }

    static Map<String, Object> map(Object... pairs) {
        Map<String, Object> made = new LinkedHashMap<>();
        for (int at = 0; at < pairs.length; at += 2) made.put((String) pairs[at], pairs[at + 1]);
        return made;
    }

    static String json(Object value) {
        if (value instanceof Map<?, ?> entries) {
            StringJoiner joined = new StringJoiner(",", "{", "}");
            entries.forEach((key, each) -> joined.add(quoted(String.valueOf(key)) + ":" + json(each)));
            return joined.toString();
        }
        if (value instanceof Collection<?> items) {
            StringJoiner joined = new StringJoiner(",", "[", "]");
            items.forEach(each -> joined.add(json(each)));
            return joined.toString();
        }
        return value instanceof String || value instanceof Uuid ? quoted(value.toString()) : String.valueOf(value);
    }

    static String quoted(String text) {
        return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"") + '"';
    }
}
