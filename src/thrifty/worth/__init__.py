"""Which features are worth their price: evaluation of sets, backtest, verdict and report."""
