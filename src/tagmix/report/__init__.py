"""Reports: figures as SVG and one self-contained page to look at them."""
