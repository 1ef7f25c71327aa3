"""`python -m polyroc` is the command `polyroc`."""

from polyroc.cli import run

if __name__ == "__main__":
    run()
