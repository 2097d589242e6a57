"""Systems that the others are compared with, one file each."""
