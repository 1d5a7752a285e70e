"""Captures: pcap and pcapng records, link layers, IP, fragments and UDP. Bytes only, no files."""
