"""The vocabulary as frozen data. Nothing here does I/O, reads a clock or imports another room."""
