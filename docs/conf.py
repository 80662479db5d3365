"""The documentation site: `make docs` builds it into build/docs."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

import graphmae

project = "graphmae"
author = copyright = "The graphmae authors"
version = release = graphmae.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "generated_pages"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"graphmae {version}"
html_show_sourcelink = False
html_copy_source = False
smartquotes = False  # commands are copied from these pages


myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
default_role = "literal"  # docstrings write `x`, as Markdown does
