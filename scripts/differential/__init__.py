"""Random small ONNX models, what the references make of them, and what Ashlar does."""
