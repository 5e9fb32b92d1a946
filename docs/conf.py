"""Sphinx builds the site from the pages of this folder: ``sphinx-build -W --keep-going -b html docs build/html``."""

from __future__ import annotations

import re

import naively

REPOSITORY = "https://github.com/naively/naively"

project = "naively"
author = "The naively developers"
copyright = "The naively developers"  # noqa: A001 (the name that Sphinx reads)
version = release = naively.__version__

extensions = [
    *("myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.viewcode", "numpydoc"),
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["**/README.md"]
myst_heading_anchors = 4  # the anchors of headings are GitHub's, so that a link works in both places

default_role = "code"  # docstrings write `name` for code
autodoc_typehints = "none"  # numpydoc's sections have the types
autodoc_member_order = "bysource"
autosummary_generate = False  # the tables lead to entries of the same page
numpydoc_show_class_members = False  # autodoc lists them
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",  # made by the build, below this folder; not kept
    "filename_pattern": "/plot_",
    "capture_repr": (),  # a page shows what a script prints and draws
    "matplotlib_animations": False,
    "abort_on_example_error": True,
    "show_memory": False,
    "download_all_examples": False,
    "min_reported_time": 3600,  # how long a script took is no part of the page
    "image_srcset": ["2x"],
}

html_theme = "pydata_sphinx_theme"
html_title = "naively"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "github_url": REPOSITORY,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 6,
    "footer_end": [],
}
html_sidebars = {"index": [], "quickstart": []}


def skip_requests(app, what, name, obj, skip, options):
    """Scikit-learn adds methods for its metadata routing, whose docstrings refer to scikit-learn's own pages."""
    del app, what, obj, options
    return True if re.fullmatch(r"set_\w+_request|get_metadata_routing", name) else skip


def lead_out(app, docname, source):
    """Links to the gallery stay on the site, those to other files beside this folder lead to the repository.

    And blocks end without an empty line.
    """
    del app, docname
    source[0] = re.sub(r"\]\(\.\./examples/gallery/(plot_\w+)\.py\)", r"](gallery/\1.rst)", source[0])
    source[0] = source[0].replace("](../examples/gallery)", "](gallery/index.rst)")
    source[0] = re.sub(r"\]\(\.\./", f"]({REPOSITORY}/blob/main/", source[0])
    source[0] = re.sub(r"\n\n```\n", "\n```\n", source[0])


def setup(app):
    """Connect the functions of this file."""
    app.connect("source-read", lead_out)
    app.connect("autodoc-skip-member", skip_requests)
