"""The sanitiser that stands between every foreign byte and the terminal."""
