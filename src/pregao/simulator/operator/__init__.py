"""The operator interface without HTTP: JSON to commands and back, from one table.

kinds     what a field is called decides what it may hold: schema, reading and writing, once each
reading   JSON bodies to command dataclasses, strictly
writing   updates and instruments of the model to JSON
calls     the table of commands and their paths
views     the table of what can be looked at
openapi   both tables as an OpenAPI document, and as a page
"""
