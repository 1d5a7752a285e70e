"""Kernels of FIX: values, messages, framing."""
