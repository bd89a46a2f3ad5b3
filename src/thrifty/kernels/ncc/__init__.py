"""NCC-UCRL2 and Sim-OOS."""
