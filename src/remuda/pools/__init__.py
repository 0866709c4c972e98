"""Pools: interchangeable machines of one class that follow a queue, kept between a minimum and a maximum."""
