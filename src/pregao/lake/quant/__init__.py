"""What quants ask of a lake: depth of any kind, bars of any kind, days, symbols, futures, adjusted prices."""
