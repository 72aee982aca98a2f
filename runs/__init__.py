"""What people do with judges: the command line (`cli`), the Python face (`api`), and the actions
behind both.
"""
