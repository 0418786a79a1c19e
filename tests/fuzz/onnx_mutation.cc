// Changes models through protobuf's reflection, so that it reaches everything in the schema: files
// with random bytes are seldom valid messages.
#include "tests/fuzz/onnx_mutation.h"

#include <google/protobuf/descriptor.h>
#include <onnx/onnx_pb.h>

#include "tests/fuzz/target.h"

namespace ashlar::testing {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr int kMostElements = 64;  // limit for lists that are searched or grow

void AddMessages(Message& message, std::vector<Message*>& messages) {
  messages.push_back(&message);
  std::vector<const FieldDescriptor*> fields;
  const auto* reflection = message.GetReflection();
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      AddMessages(*reflection->MutableMessage(&message, field), messages);
      continue;
    }
    const int size = std::min(reflection->FieldSize(message, field), kMostElements);
    for (int i = 0; i < size; ++i) {
      AddMessages(*reflection->MutableRepeatedMessage(&message, field, i), messages);
    }
  }
}

class FieldChanger {
 public:
  FieldChanger(Message& message, const FieldDescriptor* field,
               const std::vector<std::string>& words, std::mt19937_64& random)
      : message_(message),
        field_(field),
        reflection_(*message.GetReflection()),
        words_(words),
        random_(random) {}

  void Change() {
    if (!field_->is_repeated()) {
      if (random_() % 4 == 0) {
        reflection_.ClearField(&message_, field_);
      } else {
        Set(-1);
      }
      return;
    }
    const int size = reflection_.FieldSize(message_, field_);
    const int at = size == 0 ? 0 : static_cast<int>(random_() % static_cast<uint64_t>(size));
    switch (random_() % 4) {
      case 0:
        if (size == 0) return;
        reflection_.SwapElements(&message_, field_, at, size - 1);
        reflection_.RemoveLast(&message_, field_);
        break;
      case 1:
        if (size < kMostElements) Set(size);
        break;
      case 2:
        if (size != 0) reflection_.SwapElements(&message_, field_, at, 0);
        break;
      default:
        if (size != 0) Set(at);
    }
  }

 private:
  // Changes the field itself if `at` is -1, otherwise its element `at`, which may be one after the
  // last.
  template <typename T, typename SetOne, typename SetElement, typename Add>
  void Put(int at, T value, SetOne set_one, SetElement set_element, Add add) {
    if (at < 0) {
      (reflection_.*set_one)(&message_, field_, value);
    } else if (at < reflection_.FieldSize(message_, field_)) {
      (reflection_.*set_element)(&message_, field_, at, value);
    } else {
      (reflection_.*add)(&message_, field_, value);
    }
  }

  void Set(int at) {
    using R = google::protobuf::Reflection;
    const int64_t number = EdgeNumber(random_);
    switch (field_->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return Put(at, static_cast<int32_t>(number), &R::SetInt32, &R::SetRepeatedInt32,
                   &R::AddInt32);
      case FieldDescriptor::CPPTYPE_INT64:
        return Put(at, number, &R::SetInt64, &R::SetRepeatedInt64, &R::AddInt64);
      case FieldDescriptor::CPPTYPE_UINT64:
        return Put(at, static_cast<uint64_t>(number), &R::SetUInt64, &R::SetRepeatedUInt64,
                   &R::AddUInt64);
      case FieldDescriptor::CPPTYPE_FLOAT:
        return Put(at, static_cast<float>(number) / 2, &R::SetFloat, &R::SetRepeatedFloat,
                   &R::AddFloat);
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return Put(at, static_cast<double>(number) / 2, &R::SetDouble, &R::SetRepeatedDouble,
                   &R::AddDouble);
      case FieldDescriptor::CPPTYPE_ENUM:
        return Put(at, static_cast<int>(random_() % 16), &R::SetEnumValue, &R::SetRepeatedEnumValue,
                   &R::AddEnumValue);
      case FieldDescriptor::CPPTYPE_STRING:
        return SetText(at);
      case FieldDescriptor::CPPTYPE_MESSAGE:
        if (at >= 0 && at == reflection_.FieldSize(message_, field_)) AddMessage(at);
        return;
      default:
        return;
    }
  }

  void SetText(int at) {
    const std::string& word = words_[random_() % words_.size()];
    if (at < 0) {
      reflection_.SetString(&message_, field_, word);
    } else if (at < reflection_.FieldSize(message_, field_)) {
      reflection_.SetRepeatedString(&message_, field_, at, word);
    } else {
      reflection_.AddString(&message_, field_, word);
    }
  }

  // Adds a copy of another element, if there is one.
  void AddMessage(int size) {
    Message* const added = reflection_.AddMessage(&message_, field_);
    if (size == 0) return;
    const int other = static_cast<int>(random_() % static_cast<uint64_t>(size));
    added->CopyFrom(reflection_.GetRepeatedMessage(message_, field_, other));
  }

  Message& message_;
  const FieldDescriptor* const field_;
  const google::protobuf::Reflection& reflection_;
  const std::vector<std::string>& words_;
  std::mt19937_64& random_;
};

}  // namespace

std::string WithChangedField(const std::string& file, const std::vector<std::string>& words,
                             std::mt19937_64& random) {
  onnx::ModelProto model;
  if (!model.ParseFromString(file)) return WithChangedBytes(file, random);
  std::vector<Message*> messages;
  AddMessages(model, messages);
  Message& message = *messages[random() % messages.size()];
  std::vector<const FieldDescriptor*> fields;  // the fields that are set, or any
  message.GetReflection()->ListFields(message, &fields);
  const auto* type = message.GetDescriptor();
  if (fields.empty() || random() % 4 == 0) {
    fields = {type->field(static_cast<int>(random() % static_cast<uint64_t>(type->field_count())))};
  }
  FieldChanger(message, fields[random() % fields.size()], words, random).Change();
  return model.SerializeAsString();
}

std::vector<std::string> WordsOf(const std::string& file) {
  onnx::ModelProto model;
  std::vector<std::string> words;
  if (!model.ParseFromString(file)) return words;
  for (const onnx::NodeProto& node : model.graph().node()) {
    words.push_back(node.op_type());
    words.insert(words.end(), node.input().begin(), node.input().end());
    words.insert(words.end(), node.output().begin(), node.output().end());
    for (const auto& attribute : node.attribute()) {
      words.push_back(attribute.name());
      if (attribute.has_s()) words.push_back(attribute.s());
    }
  }
  return words;
}

}  // namespace ashlar::testing
