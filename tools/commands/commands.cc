// The list of subcommands.
#include "tools/command.h"

namespace ashlar {
namespace {

constexpr CommandRow kCommands[] = {
    {"run", "Run a model once or many times and show its outputs",
     "  ashlar run resnet50.ash --input data=cat.jpg --resize 256 --crop 224 --labels labels.txt\n"
     "  ashlar run resnet50.ash --input data=batch.npy --output prob.npz",
     MakeRunCommand},
    {"bench", "Measure the latency and the throughput of a model",
     "  ashlar bench resnet50.ash --threads 1 --warmup 2 --iterations 20\n"
     "  ashlar bench resnet50.ash --duration 5s --percentile 50,99,99.9 --json=bench.json\n"
     "  ashlar bench resnet50.ash --device gpu0:0 --in-flight 2",
     MakeBenchCommand},
    {"profile", "Show the time of each operator in a run",
     "  ashlar profile resnet50.ash --by op\n"
     "  ashlar profile resnet50.ash --dump profile.json --trace trace.json",
     MakeProfileCommand},
    {"tune", "Time kernels and tiles of a model inside whole runs and remember the fastest",
     "  ashlar tune resnet50.ash\n"
     "  ashlar tune resnet50.ash --threads 1 --kernels kernels.json",
     MakeTuneCommand},
    {"plan", "Plan the memory of a model, or of the buffers in a CSV file, without running",
     "  ashlar plan resnet50.ash\n"
     "  ashlar plan resnet50.ash --format svg -o plan.svg\n"
     "  ashlar plan resnet50.ash --compare naive,best_fit,auto --scheduler megengine\n"
     "  ashlar plan resnet50.ash --memory-budget 4MB -o resnet50.plan   (run --plan takes it)\n"
     "  ashlar plan resnet50.plan --diff resnet50.ash\n"
     "  ashlar plan buffers.csv --capacity 1MiB -o offsets.csv",
     MakePlanCommand},
    {"fit", "Say whether a model fits into a device's RAM and flash, and the ways to make it fit",
     "  ashlar fit model.onnx --ram 2MB --flash 4MB\n"
     "  ashlar fit model.onnx --ram 64MB --threads 1 --json=fit.json",
     MakeFitCommand},
    {"verify", "Run a model and compare the memory it used with the memory planned",
     "  ashlar verify resnet50.ash\n"
     "  ashlar verify resnet50.ash --threads 2 --json=verify.json",
     MakeVerifyCommand},
    {"train", "Train a model on images with labels, in a planned memory",
     "  ashlar train net.ash --data digits.npz --epochs 5 --batch 32 --lr 0.05 -o trained.ash\n"
     "  ashlar train resnet18.onnx --data photos/ --classes 12 --freeze '^(?!fc)' -o mine.ash\n"
     "  ashlar train net.ash --data d.npz --checkpoint c.ash --resume -o trained.ash",
     MakeTrainCommand},
    {"probe", "Find the largest size that fits into a memory, by plans and by trying",
     "  ashlar probe\n"
     "  ashlar probe --op conv --train --memory-limit 256MiB --enforce rlimit\n"
     "  ashlar probe resnet50.ash --train --memory-limit 2GiB",
     MakeProbeCommand},
    {"compare", "Compare outputs with a file, the host reference, another plan or another model",
     "  ashlar compare resnet50.ash --passes-b none --inplace-b off\n"
     "  ashlar compare model.ash exported.onnx\n"
     "  ashlar compare before.json after.json",
     MakeCompareCommand},
    {"inspect", "Show the graph in a file: inputs, outputs, operators, sizes",
     "  ashlar inspect resnet50.ash\n"
     "  ashlar inspect resnet50.ash --dot | dot -Tsvg > resnet50.svg\n"
     "  ashlar inspect profile.json --recorded-plan recorded.svg --own-plan ours.svg",
     MakeInspectCommand},
    {"convert", "Convert a model to another format, by the ending of the file",
     "  ashlar convert resnet50.ash -o resnet50.onnx\n"
     "  ashlar convert yolo.onnx --shape images=1x3x320x320 -o yolo.ash\n"
     "  ashlar convert profile.json -o resnet50.ash",
     MakeConvertCommand},
    {"quantize", "Convert a model to 8 bits, with ranges measured on data",
     "  ashlar quantize resnet50.onnx --calibrate photos/ -o resnet50.int8.ash\n"
     "  ashlar quantize net.ash --calibrate digits.npz --method percentile -o net.int8.onnx\n"
     "  ashlar quantize net.ash --calibrate digits.npz --keep conv1,fc -o net.int8.ash",
     MakeQuantizeCommand},
    {"compile", "Write a model as C99 for a microcontroller: a plan, kernels, weights, a test",
     "  ashlar compile net.int8.onnx --memory-budget 64KB -o firmware/net\n"
     "  ashlar compile net.int8.ash --memory-budget min --release-input --name net -o net",
     MakeCompileCommand},
    {"zoo", "Build a well-known network with seeded weights",
     "  ashlar zoo resnet50 --batch 10 -o resnet50.ash\n"
     "  ashlar zoo vgg19 --image 1024 --headless -o vgg19.ash",
     MakeZooCommand},
    {"demo", "Run MobileNetV2 whole and in 512 KiB, measure both, and draw the small plan",
     "  ashlar demo\n"
     "  ashlar demo --threads 1 -o small.html",
     MakeDemoCommand},
    {"ops", "List the operators and the devices that have kernels for them",
     "  ashlar ops\n"
     "  ashlar ops --device cpu --markdown\n"
     "  ashlar ops --onnx",
     MakeOpsCommand},
    {"doctor", "Describe this machine and this build, for bug reports", "  ashlar doctor",
     MakeDoctorCommand},
};

}  // namespace

absl::Span<const CommandRow> Commands() { return kCommands; }

}  // namespace ashlar
