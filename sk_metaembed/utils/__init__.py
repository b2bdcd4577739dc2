"""What people who write their own steps need: the check suite."""
