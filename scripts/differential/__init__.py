"""Random small ONNX models, and the results of the references and of Ashlar."""
