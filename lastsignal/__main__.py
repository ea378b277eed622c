"""`python -m lastsignal` is `lastsignal`."""

from lastsignal.cli import main

if __name__ == "__main__":
    main()
