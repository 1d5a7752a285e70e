"""The slow and obvious twin of everything that is fast or clever: what each must equal, without its code.

Beside the twins stand what runs both on the same input and compares them. Twins import none of the tests.
"""
