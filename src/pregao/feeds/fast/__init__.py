"""UMDF FIX/FAST: wire to model. Section numbers in here are of that document, not of Binary UMDF's."""
