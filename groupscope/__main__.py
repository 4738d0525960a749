"""`python -m groupscope`: the command line."""

from pipelines.cli.main import run

if __name__ == "__main__":
    run()
