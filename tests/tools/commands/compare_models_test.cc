// ashlar compare A B: compares the outputs of two models.
#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "tests/support/command/command_process.h"

namespace ashlar::testing {
namespace {

using ::testing::HasSubstr;
using CompareModelsTest = CommandTest;

// Regression: the second model was read as a profile dump: "nested deeper than 32".
TEST_F(CompareModelsTest, OutputsAgreeOrDiffer) {
  ASSERT_EQ(Ashlar("convert model.ash -o model.onnx").exit_code, 0);
  ASSERT_EQ(Ashlar("zoo squeezenet --image 64 -o s0.ash -q").exit_code, 0);
  ASSERT_EQ(Ashlar("zoo squeezenet --image 64 --seed 1 -o s1.ash -q").exit_code, 0);
  const ProcessResult same = Ashlar("compare model.ash model.onnx --json");
  ASSERT_EQ(same.exit_code, 0) << same.err;
  EXPECT_EQ(same.Json()["ok"], true);
  EXPECT_EQ(same.Json()["other"], "model.onnx");
  EXPECT_EQ(same.Json()["outputs"][0]["name"], "prob");
  EXPECT_EQ(Ashlar("compare model.ash model.ash --passes-b none").exit_code, 0);
  // The graph after all passes: batch norms are in the weights, formats leave no trace.
  ASSERT_EQ(Ashlar("inspect model.ash --onnx runs.onnx").exit_code, 0);
  EXPECT_EQ(Ashlar("compare model.ash runs.onnx").exit_code, 0);
  const ProcessResult different = Ashlar("compare s0.ash s1.ash");
  EXPECT_EQ(different.exit_code, 5);
  EXPECT_THAT(different.err, HasSubstr("first difference at "));
}

// Under the file's names, each layer compared with the host reference.
TEST_F(CompareModelsTest, LayersOfAnOnnxModel) {
  ASSERT_EQ(Ashlar("convert model.ash -o model.onnx").exit_code, 0);
  const ProcessResult all = Ashlar("compare model.onnx --layers all --passes none --json");
  ASSERT_EQ(all.exit_code, 0) << all.err;
  const nlohmann::json layers = all.Json()["layers"];
  EXPECT_GT(layers.size(), size_t{3});
  for (const nlohmann::json& layer : layers) {
    EXPECT_EQ(layer["ok"], true);
    EXPECT_THAT(Read("model.onnx"), HasSubstr(layer["name"].get<std::string>()));
  }
  ExpectStrictLayersDiffer("model.onnx");
}

TEST_F(CompareModelsTest, ToleranceOfOneOutput) {
  ASSERT_EQ(Ashlar("run model.ash --seed 1 -o other.npz").exit_code, 0);
  ExpectEndings("compare model.ash --ref other.npz ",
                {{"--rtol 1e-3", 5, "first difference at prob"},
                 {"--rtol 10 --rtol prob=1e-3", 5, "first difference at prob"},
                 {"--atol 10 --atol prob=0", 5, "first difference at prob"},
                 {"--rtol prob=x", 2, "--rtol: 'x' is not a number of at least 0"},
                 {"--atol none=1", 2, "--atol: no output 'none'; there are: prob"}});
  for (const char* options : {"--rtol prob=10", "--rtol prob=10 --rtol 1e-3", "--atol prob=10"}) {
    EXPECT_EQ(Ashlar(std::string("compare model.ash --ref other.npz ") + options).exit_code, 0)
        << options;
  }
}

// Regression: it was refused after the run.
TEST_F(CompareModelsTest, AMisspeltOutputOfAToleranceIsRefusedBeforeInputsAreRead) {
  for (const char* option : {"--rtol", "--atol"}) {
    const ProcessResult result =
        Ashlar(absl::StrCat("compare model.ash --input missing.npz ", option, " porb=1"));
    EXPECT_EQ(result.exit_code, 2) << option;
    EXPECT_THAT(result.err, HasSubstr("no output 'porb'; there are: prob"));
  }
}

TEST_F(CompareModelsTest, WhatCannotBeComparedIsSaid) {
  ASSERT_EQ(Ashlar("zoo squeezenet --image 64 -o s0.ash -q").exit_code, 0);
  ExpectEndings(
      "compare ",
      {{"model.ash s0.ash", 2, "model.ash takes data Float32{2,3,16,16}, and s0.ash data "},
       {"model.ash none.ash", 6, "none.ash"},
       {"model.ash dump.json", 2, "compare two models, or two profile dumps (.json)"},
       {"model.ash s0.ash --ref x.npz", 2, "--ref and another model exclude each other"},
       {"model.ash s0.ash --layers all", 2, "of two models the outputs are compared"}});
}

}  // namespace
}  // namespace ashlar::testing
