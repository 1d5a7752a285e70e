"""Datagrams and columns of UMDF FIX/FAST by kernel."""
