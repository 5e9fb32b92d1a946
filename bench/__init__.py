"""Speed and memory, side by side with scikit-learn and river in the same run: ``python -m bench`` from the checkout.

``--quick`` runs every row on small tables, as a smoke test. One function per row, gathered in `bench.rows`.
"""
