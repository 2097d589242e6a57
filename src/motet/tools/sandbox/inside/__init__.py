"""What runs on the other side: started as its own program by a bare interpreter, so it imports nothing but the standard
library and itself.
"""
