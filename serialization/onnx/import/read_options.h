// Options of reading an ONNX model.
#ifndef ASHLAR_SERIALIZATION_ONNX_IMPORT_READ_OPTIONS_H_
#define ASHLAR_SERIALIZATION_ONNX_IMPORT_READ_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/tensor.h"
#include "serialization/files_in_memory.h"
#include "serialization/mapped_files.h"

namespace ashlar {

struct OnnxReadOptions {
  // Input shapes by name; they replace the file's. A weight that the file lists among its inputs
  // becomes an input if it has a shape here.
  std::map<std::string, Shape> shapes = {};
  // Values of inputs, which become constants.
  std::map<std::string, HostTensor> values = {};
  // The same as numbers, which are converted to the input's dtype and shape.
  std::map<std::string, std::vector<double>> numbers = {};
  // The values at which the graph ends; none: the file's outputs.
  std::vector<std::string> outputs = {};
  // The most places to plan for, of values whose sizes depend on data, by name of the value or
  // node.
  std::map<std::string, int64_t> bounds = {};
  // Limit on constants computed while reading. A small file must not cost much, but weights may be
  // as large as a file without external data allows.
  int64_t most_folded_bytes = int64_t{1} << 31;
  int64_t most_folded_operations = int64_t{1} << 32;
  // The files of external data of a model in memory, to which constants refer.
  FilesInMemory files = {};
  // Tensors of so many bytes stay in the file; smaller ones are copied into messages.
  int64_t least_in_file = 1 << 14;
  // Follows symbolic links to files of external data.
  bool follow_links = false;
  // Shares the mapped files with other readings of the model. May be null.
  std::shared_ptr<MappedFiles> mapped = nullptr;
  // Called with notes for the user about a model that can be read. May be empty.
  std::function<void(const std::string&)> note = {};
  // Receives the notes about values that are computed otherwise than the file says. May be null.
  std::vector<std::string>* value_notes = nullptr;
};

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_IMPORT_READ_OPTIONS_H_
