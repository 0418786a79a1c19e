// Images and labels that a training takes its batches from.
#ifndef ASHLAR_TOOLS_TRAINING_DATA_H_
#define ASHLAR_TOOLS_TRAINING_DATA_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "tools/console.h"
#include "tools/options.h"

namespace ashlar {

// The data that a batch is filled with.
struct BatchTypes {
  TensorType images;    // Float32 {batch, ...}
  TensorType labels;    // Int32 {batch}, or Float32 {batch, ...}
  int64_t classes = 0;  // labels are below it; 0: they are no classes
};

class TrainingData {
 public:
  // `path`:
  //   .npz    arrays `images` [count, ...], of as many elements each as an image of the model has,
  //           and `labels` [count]
  //   a folder  of a folder for each class, in the order of their names, with pictures, each
  //           made an image as `run` does it; or with .npy files
  // --mean and --scale of `flags` are applied to arrays channel by channel. Errors have exit codes.
  static absl::StatusOr<TrainingData> Read(const std::string& path, const BatchTypes& types,
                                           const InputFlags& flags, Console& console);

  int64_t count() const { return count_; }
  // Class names of a folder; none of arrays.
  const std::vector<std::string>& class_names() const { return class_names_; }
  // Copies of these into the first places of a batch.
  void Fill(absl::Span<const int64_t> indices, void* images, void* labels) const;
  // Of labels that are classes.
  int32_t label(int64_t index) const { return static_cast<int32_t>(labels_.At(index)); }
  // Of all labels, so that a training that goes on notices other data.
  uint64_t checksum() const;

 private:
  absl::Status ReadArrays(const std::string& path);
  absl::Status ReadFolder(const std::string& path, const InputFlags& flags, Console& console);
  absl::Status Check(const std::string& path, const InputFlags& flags);

  BatchTypes types_;
  int64_t count_ = 0;
  int64_t image_elements_ = 0, label_elements_ = 1;
  HostTensor images_, labels_;
  std::vector<float> mean_, scale_;  // by channel; empty: images_ are taken as they are
  std::vector<std::string> class_names_;
};

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_TRAINING_DATA_H_
