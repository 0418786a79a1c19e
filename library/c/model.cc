// Models behind the C interface.
#include <algorithm>
#include <memory>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/status.h"
#include "library/c/border.h"
#include "library/c/objects.h"
#include "library/c/plan_options.h"
#include "library/channels_last.h"
#include "library/join_models.h"
#include "library/pixel_input.h"
#include "library/state_links.h"
#include "serialization/native/format.h"
#include "serialization/onnx/import/reader.h"
#include "serialization/tflite/import/reader.h"

using ashlar::c::Call;
using ashlar::c::CheckGiven;
using ashlar::c::ModelFor;
using ashlar::c::WithStatus;

namespace {

// Reports errors of opening a file as the file's, except a lack of memory.
absl::Status Rejected(const absl::Status& status) {
  if (absl::IsResourceExhausted(status) || absl::IsUnimplemented(status)) return status;
  return WithStatus(status, ASHLAR_REJECTED_FILE);
}

absl::StatusOr<ashlar::OpenOptions> OptionsOf(const ashlar_open_options* given) {
  ashlar_open_options read;
  ASHLAR_RETURN_IF_ERROR(ashlar::c::Read(given, "ashlar_open_options", read));
  if (read.num_files > 0) ASHLAR_RETURN_IF_ERROR(CheckGiven(read.files, "files"));
  ashlar::OpenOptions options;
  // All files are the library's to release before the first of them is refused.
  for (const ashlar_file& file : absl::MakeConstSpan(read.files, read.num_files)) {
    const std::shared_ptr<const void> owner(file.bytes, [file](const void*) {
      if (file.release != nullptr) file.release(file.context);
    });
    options.files[file.name != nullptr ? file.name : ""] = {
        {static_cast<const uint8_t*>(file.bytes), file.bytes_size}, owner};
  }
  for (const ashlar_file& file : absl::MakeConstSpan(read.files, read.num_files)) {
    ASHLAR_RETURN_IF_ERROR(CheckGiven(file.name, "the name of a file"));
    ASHLAR_RETURN_IF_ERROR(CheckGiven(file.bytes, file.name));
  }
  if (read.num_bounds > 0) ASHLAR_RETURN_IF_ERROR(CheckGiven(read.bounds, "bounds"));
  options.note = ashlar::c::Log;
  for (size_t i = 0; i < read.num_bounds; ++i) {
    const ashlar_bound& bound = read.bounds[i];
    ASHLAR_RETURN_IF_ERROR(CheckGiven(bound.name, "the name of a bound"));
    if (bound.most < 0) {
      return ashlar::c::InvalidArgument(
          absl::StrCat("bound ", bound.name, " is ", bound.most, ", expected 0 or more"));
    }
    options.bounds[bound.name] = bound.most;
  }
  if (read.num_values > 0) ASHLAR_RETURN_IF_ERROR(CheckGiven(read.values, "values"));
  for (const ashlar_input_value& value : absl::MakeConstSpan(read.values, read.num_values)) {
    ASHLAR_RETURN_IF_ERROR(CheckGiven(value.input, "the input of a value"));
    ASHLAR_RETURN_IF_ERROR(CheckGiven(value.numbers, value.input));
    options.values[value.input].assign(value.numbers, value.numbers + value.num_numbers);
  }
  return options;
}

// An ONNX model may lack shapes that only plans give.
absl::StatusOr<std::unique_ptr<ashlar_model>> Made(absl::StatusOr<ashlar::Model> opened, bool onnx,
                                                   const ashlar::OpenOptions& options) {
  if (!onnx && !options.bounds.empty()) {
    return ashlar::c::InvalidArgument("bounds are of ONNX models");
  }
  if (!onnx && !options.values.empty()) {
    return ashlar::c::InvalidArgument("values are of inputs of ONNX models");
  }
  if (!onnx && !options.files.empty()) {
    return ashlar::c::InvalidArgument("files of external data are of ONNX models");
  }
  auto made = std::make_unique<ashlar_model>();
  made->bounds = options.bounds;
  made->values = options.values;
  made->files = options.files;
  if (opened.ok()) {
    made->model = *std::move(opened);
    made->AddNotes(made->model.notes);
  } else if (onnx && absl::IsFailedPrecondition(opened.status())) {
    made->needs_shapes = opened.status();
  } else {
    return Rejected(opened.status());
  }
  return made;
}

// Returns a model for the caller, who frees it.
ashlar_model* NewModel(ashlar::Model model) {
  auto made = std::make_unique<ashlar_model>();
  made->model = std::move(model);
  made->AddNotes(made->model.notes);
  return made.release();
}

// Makes a model of `model` with other shapes of its inputs, by `convert`.
absl::Status MakeConverted(const ashlar_model& model, const ashlar_shape* shapes, size_t num_shapes,
                           absl::FunctionRef<absl::StatusOr<ashlar::Model>(ashlar::Model)> convert,
                           ashlar_model** converted) {
  ashlar_plan_options options = {};
  options.shapes = shapes;
  options.num_shapes = num_shapes;
  ASHLAR_ASSIGN_OR_RETURN(ashlar::Model opened, ModelFor(model, options));
  ASHLAR_ASSIGN_OR_RETURN(ashlar::Model made_of, convert(std::move(opened)));
  *converted = NewModel(std::move(made_of));
  return absl::OkStatus();
}

}  // namespace

void ashlar_model::AddNotes(const std::vector<std::string>& more) const {
  const std::lock_guard<std::mutex> lock(notes_mutex);
  for (const std::string& note : more) {
    const std::string line = ashlar::Printable(note);
    if (std::find(notes.begin(), notes.end(), line) == notes.end()) notes.push_back(line);
  }
}

namespace {

void Declare(const std::vector<ashlar::OnnxTensor>& tensors, std::vector<ashlar_tensor>& list,
             std::deque<std::string>& names) {
  for (const ashlar::OnnxTensor& from : tensors) {
    ashlar_tensor tensor = {};
    tensor.name = names.emplace_back(from.name).c_str();
    tensor.dtype = static_cast<int32_t>(from.dtype);
    tensor.rank = -1;
    if (from.dims && from.dims->size() <= ASHLAR_MAX_RANK) {
      tensor.rank = static_cast<int32_t>(from.dims->size());
      std::copy(from.dims->begin(), from.dims->end(), tensor.shape);
      const absl::StatusOr<ashlar::Shape> fixed = ashlar::Shape::Make(*from.dims);
      if (fixed.ok()) tensor.bytes = ashlar::TensorType{from.dtype, *fixed}.bytes();
    }
    list.push_back(tensor);
  }
}

absl::StatusOr<ashlar::OnnxSignature> SignatureOf(const ashlar_model& model) {
  if (model.source) return ashlar::SignatureOf(*model.source);
  return ashlar::ReadOnnxSignatureFromBytes(model.bytes, "the model in memory");
}

absl::Status Declare(ashlar_model& model) {
  if (model.is_onnx()) {
    ASHLAR_ASSIGN_OR_RETURN(const ashlar::OnnxSignature signature, SignatureOf(model));
    std::vector<ashlar::OnnxTensor> inputs;  // that are not constants
    for (const ashlar::OnnxTensor& input : signature.inputs) {
      if (model.values.count(input.name) == 0) inputs.push_back(input);
    }
    Declare(inputs, model.inputs, model.names);
    Declare(signature.outputs, model.outputs, model.names);
    return absl::OkStatus();
  }
  const ashlar::Graph& graph = model.model.graph;
  const auto add = [&](const std::vector<ashlar::Binding>& bindings,
                       std::vector<ashlar_tensor>& list) {
    for (const ashlar::Binding& binding : bindings) {
      list.push_back(ashlar::c::TensorOf(binding.name, graph.var(binding.var).type, model.names));
    }
  };
  add(graph.inputs(), model.inputs);
  add(graph.outputs(), model.outputs);
  return absl::OkStatus();
}

ashlar_status HandDeclared(const ashlar_model* model,
                           std::vector<ashlar_tensor> ashlar_model::*list,
                           const ashlar_tensor** first, size_t* count) {
  const ashlar_status read = Call([&]() -> absl::Status {
    ASHLAR_RETURN_IF_ERROR(CheckGiven(model, "model"));
    auto& of = const_cast<ashlar_model&>(*model);  // which were handed out as such
    std::call_once(of.declared_once, [&of] { of.declared = Declare(of); });
    return of.declared.ok() ? of.declared : Rejected(of.declared);
  });
  return read == ASHLAR_OK ? ashlar::c::Hand(model, "model", list, first, count) : read;
}

}  // namespace

ashlar_status ashlar_model_open(const char* path, ashlar_model** model) {
  return ashlar_model_open_with(path, nullptr, model);
}

ashlar_status ashlar_model_open_with(const char* path, const ashlar_open_options* given,
                                     ashlar_model** model) {
  return Call([&]() -> absl::Status {
    ASHLAR_RETURN_IF_ERROR(CheckGiven(path, "path"));
    ASHLAR_RETURN_IF_ERROR(CheckGiven(model, "model"));
    ASHLAR_ASSIGN_OR_RETURN(const ashlar::OpenOptions options, OptionsOf(given));
    if (!options.files.empty()) {
      return ashlar::c::InvalidArgument("files are of models in memory");
    }
    absl::StatusOr<ashlar::ModelSource> source = ashlar::SourceOf(path);
    if (!source.ok()) return Rejected(source.status());
    absl::StatusOr<ashlar::Model> opened = ashlar::OpenModel(*source, options);
    ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<ashlar_model> made,
                            Made(std::move(opened), source->is_onnx, options));
    if (source->is_onnx) made->source = *std::move(source);
    *model = made.release();
    return absl::OkStatus();
  });
}

ashlar_status ashlar_model_open_bytes(const void* bytes, size_t size, ashlar_model** model) {
  return ashlar_model_open_bytes_with(bytes, size, nullptr, model);
}

ashlar_status ashlar_model_open_bytes_with(const void* bytes, size_t size,
                                           const ashlar_open_options* given_options,
                                           ashlar_model** model) {
  return Call([&]() -> absl::Status {
    ASHLAR_RETURN_IF_ERROR(CheckGiven(bytes, "bytes"));
    ASHLAR_RETURN_IF_ERROR(CheckGiven(model, "model"));
    const absl::Span<const uint8_t> given(static_cast<const uint8_t*>(bytes), size);
    const bool onnx = !ashlar::HasNativeMagic(given) && !ashlar::HasTfliteMagic(given);
    ASHLAR_ASSIGN_OR_RETURN(const ashlar::OpenOptions options, OptionsOf(given_options));
    ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<ashlar_model> made,
                            Made(ashlar::OpenModelInMemory(given, options), onnx, options));
    if (onnx) made->bytes = given;
    *model = made.release();
    return absl::OkStatus();
  });
}

ashlar_status ashlar_model_join(const ashlar_model* first, const ashlar_model* second,
                                ashlar_model** joined) {
  return Call([&]() -> absl::Status {
    ASHLAR_RETURN_IF_ERROR(CheckGiven(first, "first"));
    ASHLAR_RETURN_IF_ERROR(CheckGiven(second, "second"));
    ASHLAR_RETURN_IF_ERROR(CheckGiven(joined, "joined"));
    ASHLAR_RETURN_IF_ERROR(first->needs_shapes);
    ASHLAR_RETURN_IF_ERROR(second->needs_shapes);
    absl::StatusOr<ashlar::Model> both = ashlar::JoinModels(first->model, second->model);
    if (!both.ok()) return both.status();
    *joined = NewModel(*std::move(both));
    return absl::OkStatus();
  });
}

ashlar_status ashlar_model_with_pixels(const ashlar_model* model, const char* pixels,
                                       const ashlar_shape* shapes, size_t num_shapes,
                                       ashlar_model** converted) {
  return Call([&]() -> absl::Status {
    ASHLAR_RETURN_IF_ERROR(CheckGiven(model, "model"));
    ASHLAR_RETURN_IF_ERROR(CheckGiven(pixels, "pixels"));
    ASHLAR_RETURN_IF_ERROR(CheckGiven(converted, "converted"));
    const auto of_pixels = [&](const absl::Status& status) {
      return ashlar::Annotate(status, absl::StrCat("pixels ", pixels));
    };
    const absl::StatusOr<ashlar::PixelInput> parsed = ashlar::ParsePixelInput(pixels);
    if (!parsed.ok()) return of_pixels(parsed.status());
    const auto convert = [&](ashlar::Model opened) -> absl::StatusOr<ashlar::Model> {
      absl::StatusOr<ashlar::Model> made_of = ashlar::WithPixelInput(std::move(opened), *parsed);
      if (!made_of.ok()) return of_pixels(made_of.status());
      return made_of;
    };
    return MakeConverted(*model, shapes, num_shapes, convert, converted);
  });
}

ashlar_status ashlar_model_with_channels_last(const ashlar_model* model, const ashlar_shape* shapes,
                                              size_t num_shapes, ashlar_model** converted) {
  return Call([&]() -> absl::Status {
    ASHLAR_RETURN_IF_ERROR(CheckGiven(model, "model"));
    ASHLAR_RETURN_IF_ERROR(CheckGiven(converted, "converted"));
    return MakeConverted(*model, shapes, num_shapes, ashlar::WithChannelsLast, converted);
  });
}

ashlar_status ashlar_model_with_states(const ashlar_model* model, const char* states,
                                       const ashlar_shape* shapes, size_t num_shapes,
                                       ashlar_model** converted) {
  return Call([&]() -> absl::Status {
    ASHLAR_RETURN_IF_ERROR(CheckGiven(model, "model"));
    ASHLAR_RETURN_IF_ERROR(CheckGiven(states, "states"));
    ASHLAR_RETURN_IF_ERROR(CheckGiven(converted, "converted"));
    std::vector<ashlar::StateLink> links;
    for (absl::string_view text : absl::StrSplit(states, ' ', absl::SkipEmpty())) {
      const absl::StatusOr<ashlar::StateLink> link = ashlar::ParseStateLink(text);
      if (!link.ok()) return ashlar::Annotate(link.status(), "states");
      links.push_back(*link);
    }
    const auto convert = [&](ashlar::Model opened) -> absl::StatusOr<ashlar::Model> {
      absl::StatusOr<ashlar::Model> made_of = ashlar::WithStates(std::move(opened), links);
      if (!made_of.ok()) return ashlar::Annotate(made_of.status(), "states");
      return made_of;
    };
    return MakeConverted(*model, shapes, num_shapes, convert, converted);
  });
}

ashlar_status ashlar_model_inputs(const ashlar_model* model, const ashlar_tensor** first,
                                  size_t* count) {
  return HandDeclared(model, &ashlar_model::inputs, first, count);
}

ashlar_status ashlar_model_outputs(const ashlar_model* model, const ashlar_tensor** first,
                                   size_t* count) {
  return HandDeclared(model, &ashlar_model::outputs, first, count);
}

const char* ashlar_model_note(const ashlar_model* model, size_t index) {
  if (model == nullptr) return nullptr;
  const std::lock_guard<std::mutex> lock(model->notes_mutex);
  return index < model->notes.size() ? model->notes[index].c_str() : nullptr;
}

void ashlar_model_release(ashlar_model* model) { delete model; }
