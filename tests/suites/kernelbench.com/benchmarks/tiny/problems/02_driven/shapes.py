SHAPES = [{"steps": 8}]
