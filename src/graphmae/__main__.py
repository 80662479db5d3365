"""python -m graphmae"""

from .cli import main

main()
