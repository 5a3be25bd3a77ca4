"""`tablewatch privacy`: measure and treat disclosure risk, and answer queries with noise.

A folder of commands: `tablewatch privacy risk` is `risk.py`. `rich_help_panel="Disclosure"`.
"""
