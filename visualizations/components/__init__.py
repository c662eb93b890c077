"""Our few gr.HTML components: a .py for what Python says, a .js that draws it, one .css for the look.

Their templates are static; everything a user typed or a model wrote reaches the page as JSON and
is set as text, never as HTML.
"""
