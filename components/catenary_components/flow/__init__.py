"""Flow control: splits, joins, switches, sub-chains, ends."""
