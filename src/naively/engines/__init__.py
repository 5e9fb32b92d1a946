"""Engines count: they turn a table into statistics, and they see neither smoothing nor prior."""
