#include "cli/cli.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>

#include "base/log.h"
#include "cli/verbs.h"

namespace muster::cli {
namespace {

// Everything that words can set; CLI11 writes into it.
struct Words {
  bool json = false;
  bool quiet = false;
  std::string controller;
  std::string state_dir;
  std::string log_level;
  RunWords run;
  SubmitWords submit;
  JobWords plan;
  PsWords ps;
  LogsWords logs;
  WaitWords wait;
  CancelWords cancel;
  std::vector<std::string> info;
  std::vector<std::string> why;
  ServeOptions serve;
  std::string shell;
  std::string launch_dir;
};

void AddJobFlags(CLI::App& verb, JobWords& words) {
  JobFlags& flags = words.flags;
  verb.add_option("file", words.file, "Job file (YAML); - reads it from standard input");
  verb.add_option("--name", flags.name, "Name of the job");
  verb.add_option("--on", flags.cluster, "The configured cluster to run on");
  verb.add_option("--cpus", flags.cpus, "Processors of each task: 2, 0.5, 500m");
  verb.add_option("--memory", flags.memory, "Memory of each task: 256Mi, 4G");
  verb.add_option("--time", flags.time, "Time limit of each task: 90s, 10m, 2h");
  verb.add_option("--grace", flags.grace, "Between the polite and the forced stop: 5s");
  verb.add_option("--retries", flags.retries, "Retries after a failure of the command itself");
  verb.add_option("--array", flags.array, "Run the command for each index: 1-100, 1-100:2, 1-100%5");
  verb.add_option("--at-once", flags.at_once, "Most tasks of a list that run at the same time");
  verb.add_option("--priority", flags.priority, "Higher goes first");
  verb.add_flag("--once", flags.once, "Never start a task a second time while the first may still run");
  verb.add_option("--env", flags.env, "NAME=VALUE, or NAME to take it from here; may be repeated")
      ->allow_extra_args(false);
  verb.add_option("--cwd", flags.cwd, "Folder in which the tasks run");
}

void AddRunVerbs(CLI::App& app, Words& words) {
  CLI::App& run = *app.add_subcommand(
      "run", "Run a job file, a command (behind --) or a command with a list (::: or lines of "
             "standard input), and wait for its end");
  AddJobFlags(run, words.run.job);
  run.add_option("--resume", words.run.resume, "Go on with a run that was broken off: j12");
  run.footer(
      "Placeholders: {item} {item:name} {index} {out}\n"
      "  muster run -- echo hi\n"
      "  muster run -- convert {item} -resize 200 out/{item:name}.jpg ::: photos/*.jpg\n"
      "  ls | muster run -- wc -l {item}\n"
      "  muster run job.yaml\n"
      "Exit code: 0 all succeeded, 1 a task failed, 2 usage, 3 unreachable, 5 cancelled; of a single\n"
      "command its own, 128+n for signal n, 126 not executable, 127 not found, 125 anything else.");
  CLI::App& submit = *app.add_subcommand("submit", "Hand a job to the controller and print its id");
  AddJobFlags(submit, words.submit.job);
  submit.add_flag("--wait", words.submit.wait, "Wait for its end");
  submit.add_option("--request-id", words.submit.request_id,
                    "A repeat with the same id gives the same job");
  CLI::App& plan = *app.add_subcommand("plan", "Show what would run, and start nothing");
  AddJobFlags(plan, words.plan);
  CLI::App& serve = *app.add_subcommand("serve", "Run a standing controller on this machine");
  serve.add_option("--socket", words.serve.socket, "Unix socket to listen on");
}

void AddReadVerbs(CLI::App& app, Words& words) {
  CLI::App& ps = *app.add_subcommand("ps", "List jobs, or the tasks of a job (muster ps j12)");
  ps.add_option("ids", words.ps.ids, "Jobs: j12, j12.1-20, last");
  ps.add_flag("-a,--all", words.ps.all, "Also jobs that ended more than an hour ago");
  ps.add_flag("-x,--executors", words.ps.executors, "List executors instead");
  ps.add_flag("--failed", words.ps.failed, "Only tasks that ended neither ok nor cancelled");
  ps.add_option("--state", words.ps.state, "Only tasks in this state: waiting ready active ended");
  ps.add_option("--reason", words.ps.reason, "Only tasks that ended so: ok failed signal timeout ...");
  ps.add_option("--name", words.ps.name, "Only tasks of this name");
  ps.add_option("--limit", words.ps.limit, "Rows of a page")->check(CLI::Range(1, 10000));
  ps.add_option("--after", words.ps.after, "Go on behind this job or task number");
  CLI::App& info = *app.add_subcommand("info", "Everything about jobs, tasks or executors");
  info.add_option("ids", words.info, "j12, j12.500, j12.count.7, x3")->required();
  CLI::App& why = *app.add_subcommand("why", "Why a task is where it is, with the figures");
  why.add_option("ids", words.why, "j12.500, or j12 for the first of each kind")->required();
  CLI::App& logs = *app.add_subcommand("logs", "Output of tasks");
  logs.add_option("ids", words.logs.ids, "j12.500, j12.500#2, j12.1-3, j12")->required();
  logs.add_flag("-f,--follow", words.logs.follow, "Go on until the end");
  logs.add_option("--stream", words.logs.stream, "Only one: stdout, stderr, executor")
      ->check(CLI::IsMember({"stdout", "stderr", "executor"}));
  logs.add_option("-n,--tail", words.logs.tail_lines, "Only the last lines");
  CLI::App& wait = *app.add_subcommand("wait", "Wait for the end of jobs; exit code 1 if a task failed");
  wait.add_option("ids", words.wait.ids, "Jobs")->required();
  wait.add_option("--timeout", words.wait.timeout, "Give up after: 90s, 10m (exit code 4)");
  wait.add_flag("--ignore-failures", words.wait.ignore_failures, "Exit code 0 although tasks failed");
  CLI::App& cancel = *app.add_subcommand("cancel", "Cancel jobs or tasks");
  cancel.add_option("ids", words.cancel.ids, "j12, j12.5, j12.1-20")->required();
  cancel.add_flag("--abandon", words.cancel.abandon, "End at once what cannot be confirmed as gone");
  cancel.add_flag("--wait", words.cancel.wait, "Wait until all is gone");
  app.add_subcommand("version", "Print the version, and the controller's");
  CLI::App& completion = *app.add_subcommand("completion", "Print a completion script");
  completion.add_option("shell", words.shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  CLI::App& executor = *app.add_subcommand("executor", "Run an executor (used by clusters)")->group("");
  executor.add_option("--launch-dir", words.launch_dir, "Folder of its launch")->required();
}

LoadedConfig LoadHere(const Words& words) {
  ConfigInputs inputs;
  std::error_code error;
  inputs.cwd = std::filesystem::current_path(error).string();
  if (const char* home = std::getenv("HOME")) inputs.home = home;
  inputs.variable = [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  inputs.user = ::geteuid();
  if (!words.controller.empty()) inputs.flags.emplace_back("controller", words.controller);
  if (!words.state_dir.empty()) inputs.flags.emplace_back("state_dir", words.state_dir);
  if (!words.log_level.empty()) inputs.flags.emplace_back("log_level", words.log_level);
  return LoadConfig(inputs);
}

int Dispatch(const CLI::App& app, Words& words, const Hooks& hooks) {
  if (app.got_subcommand("executor")) return hooks.run_executor(words.launch_dir);
  if (app.got_subcommand("completion")) return Completion(words.shell);
  LoadedConfig loaded = LoadHere(words);
  if (!loaded.problems.empty()) {
    for (const ConfigProblem& problem : loaded.problems) fmt::print(stderr, "{}\n", Render(problem));
    fmt::print(stderr, "muster: the configuration cannot be used\n");
    return kExitUsage;
  }
  SetLogLevel(loaded.config.log_level.value);
  if (app.got_subcommand("serve")) return hooks.serve(loaded.config, words.serve);
  Session session(std::move(loaded.config), hooks);
  session.json = words.json;
  session.quiet = words.quiet;
  if (app.got_subcommand("run")) return Run(session, words.run);
  if (app.got_subcommand("submit")) return Submit(session, words.submit);
  if (app.got_subcommand("plan")) return Plan(session, words.plan);
  if (app.got_subcommand("ps")) return Ps(session, words.ps);
  if (app.got_subcommand("info")) return Info(session, words.info);
  if (app.got_subcommand("why")) return Why(session, words.why);
  if (app.got_subcommand("logs")) return Logs(session, words.logs);
  if (app.got_subcommand("wait")) return Wait(session, words.wait);
  if (app.got_subcommand("cancel")) return Cancel(session, words.cancel);
  return Version(session);
}

}  // namespace

int RunCli(int argc, char** argv, const Hooks& hooks) {
  Words words;
  CLI::App app("Runs your tasks on whatever cluster you have.", "muster");
  app.require_subcommand(1);
  app.fallthrough();
  app.set_version_flag("--version", std::string("muster ") + kVersion);
  app.add_flag("--json", words.json, "Print JSON");
  app.add_flag("-q,--quiet", words.quiet, "No progress, no summary");
  app.add_option("--controller", words.controller, "Controller to speak to: a socket's path");
  app.add_option("--state-dir", words.state_dir, "Folder for runs and stores");
  app.add_option("--log-level", words.log_level, "debug, info, warning, error, off");
  AddRunVerbs(app, words);
  AddReadVerbs(app, words);
  // What stands behind "--" is the command, whatever it looks like.
  std::vector<std::string> own;
  std::vector<std::string> command;
  bool behind = false;
  for (int i = 1; i < argc; ++i) {
    if (!behind && std::string_view(argv[i]) == "--") {
      behind = true;
    } else {
      (behind ? command : own).emplace_back(argv[i]);
    }
  }
  words.run.job.command = command;
  words.submit.job.command = command;
  words.plan.command = command;
  try {
    std::vector<std::string> reversed(own.rbegin(), own.rend());
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    fmt::print(stderr, "muster: {}\n", error.what());
    fmt::print(stderr, "muster: see `muster{} --help`\n",
               app.get_subcommands().empty() ? "" : " " + app.get_subcommands().front()->get_name());
    return kExitUsage;
  }
  try {
    return Dispatch(app, words, hooks);
  } catch (const std::exception& thrown) {
    fmt::print(stderr, "muster: {}\n", thrown.what());
    return kExitFailed;
  }
}

}  // namespace muster::cli
