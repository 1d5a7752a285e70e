"""Catalogues of instruments: the packaged file, and how the notation of such files is read."""
