// Model files with misleading names or none, and models and inputs from pipes.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/support/command/command_process.h"
#include "tests/support/shared_data.h"

namespace ashlar::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class ModelFilesTest : public CommandTest {
 protected:
  static void SetUpTestSuite() {
    CommandTest::SetUpTestSuite();
    ASSERT_EQ(Ashlar("convert model.ash -o model.onnx").exit_code, 0);
  }
  // Writes a shell command's output into a pipe of that name. Ends when the output is read.
  static std::thread Pipe(const std::string& name, const std::string& command) {
    EXPECT_EQ(mkfifo(Path(name).c_str(), 0600), 0);
    return std::thread(
        [=] { std::system(absl::StrCat("cd ", Path("."), " && ", command, " > ", name).c_str()); });
  }
};

// Regression: m.ash took the first of three rows for the last one.
TEST_F(ModelFilesTest, WrittenModelsRefuseSizesTheyWereNotReadFor) {
  const std::string source = SharedData("data/models/last_row.onnx");
  EXPECT_EQ(Ashlar("run " + source + " --shape x=3x4").exit_code, 0);
  for (const char* file : {"row.ash", "row.onnx"}) {
    SCOPED_TRACE(file);
    ASSERT_EQ(Ashlar(absl::StrCat("convert ", source, " -o ", file)).exit_code, 0);
    EXPECT_EQ(Ashlar(absl::StrCat("run ", file)).exit_code, 0);
    EXPECT_EQ(Ashlar(absl::StrCat("run ", file, " --shape x=1x4")).exit_code, 0);
    const ProcessResult other = Ashlar(absl::StrCat("run ", file, " --shape x=3x4"));
    EXPECT_EQ(other.exit_code, 2) << other.err;
    EXPECT_THAT(other.err, HasSubstr("depends on dimension 0"));
    EXPECT_THAT(other.err, HasSubstr("{1,4}, and asked for is {3,4}"));
  }
  // Packed, too.
  ASSERT_EQ(Ashlar("convert --pack " + source + " -o packed.ash").exit_code, 0);
  EXPECT_EQ(Ashlar("run packed.ash --shape x=3x4").exit_code, 2);
}

// Regression: models written of joined ones computed other values for other sizes.
TEST_F(ModelFilesTest, WrittenJoinedModelsRefuseSizesTheyWereNotReadFor) {
  const std::string last = SharedData("data/models/last_row.onnx");
  const std::string relu = SharedData("data/models/relu.onnx");  // {N,4}
  ASSERT_EQ(Ashlar(absl::StrCat("convert ", last, " -o last.ash")).exit_code, 0);
  ASSERT_EQ(Ashlar(absl::StrCat("convert ", relu, " -o relu.ash")).exit_code, 0);
  const struct {
    std::string first, second;
    bool is_fixed;
  } cases[] = {{last, relu, true},
               {relu, last, true},
               {"relu.ash", last, true},
               {relu, "last.ash", true},
               {"relu.ash", "last.ash", true},
               {"last.ash", "relu.ash", true},
               {relu, relu, false},
               {"relu.ash", "relu.ash", false},
               {relu, "relu.ash", false}};
  for (const auto& c : cases) {
    for (const char* file : {"joined.ash", "joined.onnx"}) {
      SCOPED_TRACE(absl::StrCat(c.first, " --then ", c.second, " -o ", file));
      ASSERT_EQ(
          Ashlar(absl::StrCat("convert ", c.first, " --then ", c.second, " -o ", file)).exit_code,
          0);
      EXPECT_EQ(Ashlar(absl::StrCat("run ", file)).exit_code, 0);
      const ProcessResult other = Ashlar(absl::StrCat("run ", file, " --shape x=3x4"));
      EXPECT_EQ(other.exit_code, c.is_fixed ? 2 : 0) << other.err;
      if (c.is_fixed) {
        EXPECT_THAT(other.err, HasSubstr("depends on dimension 0"));
      }
    }
  }
}

// Regression: written ONNX declared the size that was read, and other programs refused all others.
TEST_F(ModelFilesTest, AnOpenNumberOfImagesStaysOpenInWrittenOnnx) {
  const std::string relu = SharedData("data/models/relu.onnx");  // {N,4}
  ASSERT_EQ(Ashlar(absl::StrCat("convert ", relu, " -o open.onnx")).exit_code, 0);
  ASSERT_EQ(Ashlar("convert open.onnx --then open.onnx -o both.onnx").exit_code, 0);
  for (const char* file : {"open.onnx", "both.onnx"}) {
    const std::string bytes = Read(file), symbol("\x12\x01N", 3);  // a dim_param
    const size_t first = bytes.find(symbol);
    ASSERT_NE(first, std::string::npos) << file;
    EXPECT_NE(bytes.find(symbol, first + 1), std::string::npos) << file << ": of the output";
    EXPECT_EQ(Ashlar(absl::StrCat("run ", file, " --shape x=3x4")).exit_code, 0) << file;
  }
  // Regression: the size that was asked for was forgotten.
  ASSERT_EQ(Ashlar(absl::StrCat("convert ", relu, " --shape x=8x4 -o eight.onnx")).exit_code, 0);
  EXPECT_EQ(Ashlar("plan eight.onnx --json").Json()["pools"]["input"]["planned_bytes"], 8 * 4 * 4);
}

// Regression: the second model was read for the sizes of its file, and --shape of its inputs was an
// unknown input.
TEST_F(ModelFilesTest, JoinedModelsTakeTheSizesOfTheModelBefore) {
  const std::string last = SharedData("data/models/last_row.onnx");  // {N,4}, gives {1,4}
  const std::string relu = SharedData("data/models/relu.onnx");      // {N,4}
  ASSERT_EQ(Ashlar(absl::StrCat("convert ", relu, " -o relu.ash")).exit_code, 0);
  ASSERT_EQ(Ashlar(absl::StrCat("convert ", last, " -o last.ash")).exit_code, 0);
  for (const std::string& second : {relu, last, std::string("relu.ash")}) {
    SCOPED_TRACE(second);
    const ProcessResult run =
        Ashlar(absl::StrCat("run ", relu, " --then ", second, " --shape x=3x4 --json"));
    EXPECT_EQ(run.exit_code, 0) << run.err;
  }
  const std::string joined = absl::StrCat("run ", relu, " --then ");
  ExpectEndings(joined, {{"last.ash --shape x=3x4", 2, "depends on dimension 0"},
                         {"last.ash --shape x=3x4", 2, "write it again from its source"},
                         {"relu.ash --shape none=3x4", 2, "no input 'none'; the model has: x"}});
  // Regression: a shape of a linked input was ignored.
  const std::string square = SharedData("data/models/square.onnx");
  const std::string relu3 = SharedData("data/models/relu3.onnx");
  ExpectEndings(absl::StrCat("run ", square, " --then ", relu3, " --shape x=1x3x4x4 --shape "),
                {{"y=1x3x9", 2, "--shape y: this input of "}});
}

// Regression: height and width that can change only together, beside channels that cannot change,
// were not found: the fourth row of five was taken for the last one.
TEST_F(ModelFilesTest, DimensionsThatChangeOnlyTogetherAreRefused) {
  const std::string square = SharedData("data/models/square.onnx");
  const std::string relu = SharedData("data/models/relu3.onnx");
  const auto convert = [](const std::string& arguments) {
    ASSERT_EQ(Ashlar("convert " + arguments).exit_code, 0) << arguments;
  };
  convert(square + " --shape x=1x3x4x4 -o square.ash");
  convert(square + " --shape x=1x3x4x4 -o square.onnx");
  convert(relu + " --shape y=1x3x4 -o relu3.ash");
  convert("square.ash --then relu3.ash -o joined.ash");
  convert("square.ash --then relu3.ash -o joined.onnx");
  convert(square + " --then relu3.ash --shape x=1x3x4x4 -o read.ash");
  for (const char* file : {"square.ash", "square.onnx", "joined.ash", "joined.onnx", "read.ash"}) {
    SCOPED_TRACE(file);
    EXPECT_EQ(Ashlar(absl::StrCat("run ", file)).exit_code, 0);
    EXPECT_EQ(Ashlar(absl::StrCat("run ", file, " --shape x=2x3x4x4")).exit_code, 0);
    for (const char* shape : {"1x3x5x5", "2x3x8x8", "1x3x5x4", "1x2x4x4"}) {
      EXPECT_EQ(Ashlar(absl::StrCat("run ", file, " --shape x=", shape)).exit_code, 2) << shape;
    }
  }
}

// Regression: sizes that a file declares, marks of a written file, and sizes that only an odd
// size shows.
TEST_F(ModelFilesTest, DeclaredSizesAndMarksAreKeptInWrittenFiles) {
  const std::string last = SharedData("data/models/last_row.onnx");
  ASSERT_EQ(Ashlar("convert " + last + " -o once.onnx").exit_code, 0);
  for (const char* const twice : {"twice.ash", "twice.onnx"}) {
    SCOPED_TRACE(twice);
    ASSERT_EQ(Ashlar(absl::StrCat("convert once.onnx -o ", twice)).exit_code, 0);
    EXPECT_EQ(Ashlar(absl::StrCat("run ", twice)).exit_code, 0);
    EXPECT_EQ(Ashlar(absl::StrCat("run ", twice, " --shape x=3x4")).exit_code, 2);
    const std::string declared = SharedData("data/models/last_of_two.onnx");  // {2,4}
    ASSERT_EQ(Ashlar(absl::StrCat("convert ", declared, " -o ", twice)).exit_code, 0);
    EXPECT_EQ(Ashlar(absl::StrCat("run ", declared, " --shape x=3x4")).exit_code, 0);
    EXPECT_EQ(Ashlar(absl::StrCat("run ", twice, " --shape x=3x4")).exit_code, 2);
    const std::string parity = SharedData("data/models/parity.onnx");  // rows modulo 2 are added
    ASSERT_EQ(Ashlar(absl::StrCat("convert ", parity, " --shape x=2x4 -o ", twice)).exit_code, 0);
    EXPECT_EQ(Ashlar(absl::StrCat("run ", twice, " --shape x=3x4")).exit_code, 2);
    EXPECT_EQ(Ashlar(absl::StrCat("run ", twice, " --shape x=2x5")).exit_code, 0);
  }
}

// Regression: an ONNX file without its ending was "not an Ashlar model (.ash): wrong magic number".
TEST_F(ModelFilesTest, OnnxModelsAreKnownByTheirFirstBytes) {
  const std::string expected = Ashlar("run model.onnx --json --seed 3").Json()["outputs"].dump();
  const std::string bytes = Read("model.onnx");
  for (const char* name : {"noext", "model.ort", "model.pb", "model.ONNX", "a.b"}) {
    SCOPED_TRACE(name);
    Write(name, bytes);
    const ProcessResult run = Ashlar(absl::StrCat("run ", name, " --json --seed 3"));
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(run.Json()["outputs"].dump(), expected);
    EXPECT_EQ(Ashlar(absl::StrCat("plan ", name, " --outputs prob")).exit_code, 0);
  }
}

TEST_F(ModelFilesTest, ModelsComeFromPipesAndStandardInput) {
  for (const char* file : {"model.ash", "model.onnx"}) {
    SCOPED_TRACE(file);
    const std::string expected =
        Ashlar(absl::StrCat("run ", file, " --json --seed 3")).Json()["outputs"].dump();
    for (const std::string& model :
         {absl::StrCat("- < ", file), absl::StrCat("/dev/stdin < ", file)}) {
      const ProcessResult run = Ashlar(absl::StrCat("run --json --seed 3 ", model));
      ASSERT_EQ(run.exit_code, 0) << run.err;
      EXPECT_EQ(run.Json()["outputs"].dump(), expected) << model;
    }
    const std::string pipe = absl::StrCat("pipe.", file, ".fifo");
    std::thread writer = Pipe(pipe, absl::StrCat("cat ", file));
    const ProcessResult piped = Ashlar(absl::StrCat("run --json --seed 3 ", pipe));
    writer.join();
    ASSERT_EQ(piped.exit_code, 0) << piped.err;
    EXPECT_EQ(piped.Json()["outputs"].dump(), expected);
  }
  std::thread writer = Pipe("cut", "head -c 1000 model.ash");
  const ProcessResult cut = Ashlar("run cut");
  writer.join();
  EXPECT_EQ(cut.exit_code, 6) << cut.err;
  EXPECT_THAT(cut.err, HasSubstr("cut: "));
}

// Regression: a command that opened its model twice found the pipe empty the second time.
TEST_F(ModelFilesTest, ModelsFromPipesAreReadAsOftenAsFiles) {
  Write("open.onnx", Read("model.onnx"));
  const struct {
    const char* before;  // the model
    const char* behind;
    const char* key;  // of the document, that has to be the same
  } cases[] = {{"plan ", " --train --batch 4", "arena_bytes"},
               {"plan ", " --tile 0-4:rows2 -o pipe.html", "arena_bytes"},
               {"plan ", " --value data=0", "arena_bytes"},
               {"plan model.onnx --then ", "", "arena_bytes"},
               {"compare model.onnx ", " --seed 3", "outputs"},
               {"compare model.onnx ", " --seed 3 --outputs prob", "outputs"},
               {"verify ", " --seed 3", "values"}};
  int pipes = 0;
  for (const auto& test : cases) {
    SCOPED_TRACE(absl::StrCat(test.before, "PIPE", test.behind));
    const std::string pipe = absl::StrCat("model", ++pipes);
    const ProcessResult expected =
        Ashlar(absl::StrCat(test.before, "open.onnx", test.behind, " --json=file.json"));
    std::thread writer = Pipe(pipe, "cat open.onnx");
    const ProcessResult piped =
        Ashlar(absl::StrCat(test.before, pipe, test.behind, " --json=pipe.json"));
    writer.join();
    EXPECT_EQ(piped.exit_code, expected.exit_code) << piped.err;
    if (expected.exit_code != 0) continue;
    EXPECT_EQ(json::parse(Read("pipe.json"))[test.key], json::parse(Read("file.json"))[test.key]);
  }
}

// The name of a file was looked at first: every .pb file was called TensorFlow's.
TEST_F(ModelFilesTest, WhatAFileHoldsCountsMoreThanItsEnding) {
  Write("ashlar.pb", Read("model.ash"));
  // Regression: bounds were ignored in silence for all but ONNX.
  ExpectEndings("run ashlar.pb ",
                {{"--bound nobody=1", 2, "--bound nobody=1: ashlar.pb is no .onnx file"}});
  EXPECT_EQ(Ashlar("run ashlar.pb").exit_code, 0);
  Write("nothing.pb", "");
  Write("text.pb", "something else");
  Write("graph.pb", "\n\x0c\n\x01x\x12\x0bPlaceholder");
  ExpectEndings("run ", {{"nothing.pb", 6, "not an Ashlar model (.ash)"},
                         {"text.pb", 6, "not an Ashlar model (.ash)"},
                         {"none.pb", 6, "none.pb: "},
                         {"graph.pb", 6, "a TensorFlow model"}});
}

TEST_F(ModelFilesTest, FilesOfOtherProgramsAreNamed) {
  const struct {
    const char* file;
    std::string bytes;
    const char* kind;
  } cases[] = {
      {"a.pt", std::string("PK\3\4\0\0\x08\x08", 8), "a PyTorch or Keras file"},
      {"old.pth", std::string("\x80\x02\x8a\nl\xfc", 6), "a PyTorch file (pickled)"},
      {"a.h5", "\x89HDF\r\n\x1a\n", "a Keras model (HDF5)"},
      {"a.xml", "<?xml version=\"1.0\"?>\n<net name=\"n\">", "an OpenVINO model"},
      {"saved_model.pb", std::string("\x08\x01\x12\xb2\x04\n", 6), "a TensorFlow model"},
      {"a.ort", std::string("\x14\0\0\0ORTM\0\0", 10), "a model in ONNX Runtime's own format"},
      {"a.gguf", std::string("GGUF\3\0\0\0", 8), "a GGUF file"},
  };
  for (const auto& test : cases) {
    Write(test.file, test.bytes);
    ExpectEndings("run ", {{test.file, 6, absl::StrCat(test.file, ": ", test.kind)},
                           {test.file, 6, "export it as ONNX"}});
  }
  Write("a.tflite", std::string("\x1c\0\0\0TFL3\x14\0\x20\0", 12));
  ExpectEndings("run ", {{"a.tflite", 6, "no TensorFlow Lite model, or a damaged one (12 bytes)"}});
  Write("a.bin", "something else");
  ExpectEndings("run ", {{"a.bin", 6, "not an Ashlar model (.ash)"}});
  Write("empty", "");
  ExpectEndings("run ", {{"empty", 6, "not an Ashlar model (.ash)"}});
}

// The stored model is of 8 bits: {1,49,10,1} in and {1,12} out.
TEST_F(ModelFilesTest, EveryCommandReadsTensorFlowLite) {
  const std::string model = SharedData("data/tflite/ds_cnn.int8.tflite");
  const ProcessResult plan = Ashlar(absl::StrCat("plan ", model, " --json"));
  ASSERT_EQ(plan.exit_code, 0) << plan.err;
  EXPECT_GT(plan.Json()["arena_bytes"], 0);
  EXPECT_EQ(Ashlar(absl::StrCat("inspect - < ", model)).exit_code, 0);
  for (const char* command : {"run ", "inspect ", "verify ", "profile "}) {
    const ProcessResult done = Ashlar(absl::StrCat(command, model));
    EXPECT_EQ(done.exit_code, 0) << command << done.err;
  }
  EXPECT_EQ(Ashlar(absl::StrCat("compile ", model, " -o tflite_code/net")).exit_code, 0);
  for (const char* file : {"tflite.ash", "tflite.onnx"}) {
    ASSERT_EQ(Ashlar(absl::StrCat("convert ", model, " -o ", file)).exit_code, 0);
    const ProcessResult compared = Ashlar(absl::StrCat("compare ", model, " ", file, " --json"));
    EXPECT_EQ(compared.exit_code, 0) << compared.err;
  }
  std::filesystem::copy_file(model, Path("no_ending"));
  EXPECT_EQ(Ashlar("inspect no_ending").exit_code, 0);
  ExpectEndings(absl::StrCat("inspect ", model, " "),
                {{"--outputs nothing", 2, "output nothing: the model has no such tensor"},
                 {"--shape x=1x2", 2, "input x: the model has no such input; it has mfcc"},
                 {"--value mfcc=1", 2, "is no .onnx file"},
                 {"--bound mfcc=1", 2, "is no .onnx file"}});
  const ProcessResult two = Ashlar(absl::StrCat("run ", model, " --shape mfcc=2x49x10x1"));
  EXPECT_EQ(two.exit_code, 2);  // its RESHAPE has a fixed size
  EXPECT_THAT(two.err, HasSubstr("(RESHAPE)"));
}

TEST_F(ModelFilesTest, PlansAreWrittenIntoTensorFlowLiteModels) {
  const std::string model = SharedData("data/tflite/ds_cnn.int8.tflite");
  const ProcessResult plan = Ashlar(absl::StrCat("plan ", model, " -o planned.tflite --json"));
  ASSERT_EQ(plan.exit_code, 0) << plan.err;
  EXPECT_EQ(plan.Json()["arena_bytes"], plan.Json()["lower_bound_bytes"]);
  EXPECT_THAT(Read("planned.tflite"), HasSubstr("OfflineMemoryAllocation"));
  EXPECT_EQ(Ashlar(absl::StrCat("compare planned.tflite ", model)).exit_code, 0);
  ExpectEndings("plan ",
                {{"model.ash -o p.tflite", 2, "model.ash is no .tflite file"},
                 {model + " -o p.tflite --tile none", 2,
                  "--tile has no effect: the plan inside p.tflite is for another program"}});
}

// Regression: a shell's <(command) was "not a regular file".
TEST_F(ModelFilesTest, InputsAndLabelsComeFromPipes) {
  Write("p.ppm", "P6\n2 1\n255\n\x01\x20\xff\x80\x40\xc8");
  Write("labels.txt", "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n");
  const std::string run = "run model.ash --json --top 1 --resize stretch ";
  const ProcessResult expected = Ashlar(run + "--input p.ppm --labels labels.txt");
  ASSERT_EQ(expected.exit_code, 0) << expected.err;
  int pipes = 0;
  for (const char* name : {"", "data="}) {
    const std::string image = absl::StrCat("image", ++pipes), labels = absl::StrCat("l", pipes);
    std::thread images = Pipe(image, "cat p.ppm"), texts = Pipe(labels, "cat labels.txt");
    const ProcessResult piped =
        Ashlar(absl::StrCat(run, "--input ", name, image, " --labels ", labels));
    images.join();
    texts.join();
    ASSERT_EQ(piped.exit_code, 0) << piped.err;
    EXPECT_EQ(piped.Json()["outputs"], expected.Json()["outputs"]);
  }
}

// Regression: the name of a file was split at its "=".
TEST_F(ModelFilesTest, NamesOfFilesMayHoldAnEqualsSign) {
  Write("a=b.ppm", "P6\n2 1\n255\n\x01\x20\xff\x80\x40\xc8");
  for (const char* input : {"a=b.ppm", "data=a=b.ppm", "./a=b.ppm"}) {
    const ProcessResult run =
        Ashlar(absl::StrCat("run model.ash --resize stretch --input ", input));
    EXPECT_EQ(run.exit_code, 0) << input << ": " << run.err;
  }
  ExpectEndings("run model.ash --input ",
                {{"a=c.ppm", 2, "--input a: no such input; the model has: data"}});
}

}  // namespace
}  // namespace ashlar::testing
