"""The vocabulary as frozen data. Nothing here does I/O, tells the time or imports another room."""
