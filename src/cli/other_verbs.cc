// muster version and completion.
#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdio>

#include "cli/cli.h"
#include "cli/verbs.h"
#include "wire/api_json.h"

namespace muster::cli {
namespace {

constexpr std::string_view kVerbs =
    "run submit plan serve ps info why logs wait cancel version completion";
constexpr std::string_view kJobFlags =
    "--name --on --cpus --memory --time --grace --retries --array --at-once --priority --once --env "
    "--cwd";

void PrintBash() {
  fmt::print(R"sh(# bash completion of muster: source <(muster completion bash)
_muster() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" verb="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "${{COMP_WORDS[i]}}" in
      --) COMPREPLY=(); compopt -o default; return ;;
      -*) ;;
      *) if [ -z "$verb" ]; then verb="${{COMP_WORDS[i]}}"; fi ;;
    esac
  done
  if [ -z "$verb" ]; then
    COMPREPLY=($(compgen -W "{0} --json --quiet --controller --state-dir --help --version" -- "$word"))
    return
  fi
  case "$verb" in
    run|submit|plan)
      if [[ "$word" == -* ]]; then
        COMPREPLY=($(compgen -W "{1} --resume --wait --json --quiet --help" -- "$word"))
      else
        compopt -o default
      fi ;;
    ps|info|why|logs|wait|cancel)
      if [[ "$word" == -* ]]; then
        COMPREPLY=($(compgen -W "--all --failed --state --reason --follow --tail --timeout --abandon --wait --json --help" -- "$word"))
      else
        COMPREPLY=($(compgen -W "last $(muster ps --json 2>/dev/null | grep -o '"id":"j[0-9]*"' | cut -d'"' -f4)" -- "$word"))
      fi ;;
    completion) COMPREPLY=($(compgen -W "bash zsh fish" -- "$word")) ;;
  esac
}}
complete -F _muster muster
)sh",
             kVerbs, kJobFlags);
}

void PrintZsh() {
  fmt::print("#compdef muster\n# zsh completion of muster: source <(muster completion zsh)\n"
             "autoload -U +X bashcompinit && bashcompinit\n");
  PrintBash();
}

void PrintFish() {
  fmt::print("# fish completion of muster: muster completion fish | source\n");
  std::string_view rest = kVerbs;
  while (!rest.empty()) {
    size_t space = rest.find(' ');
    fmt::print("complete -c muster -n __fish_use_subcommand -f -a {}\n", rest.substr(0, space));
    rest = space == std::string_view::npos ? "" : rest.substr(space + 1);
  }
  fmt::print("complete -c muster -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'\n");
}

}  // namespace

int Version(Session& session) {
  std::string socket = session.config().state_dir.value + "/controller/socket";
  struct stat found{};
  std::optional<ServerView> server;
  std::string trouble;
  if (session.has_configured_controller() || ::stat(socket.c_str(), &found) == 0) {
    auto client = session.ConnectLive(std::nullopt);
    auto answer = client.ok() ? (*client)->Server() : Result<ServerView>(client.error());
    if (answer.ok()) {
      server = *answer;
    } else {
      trouble = answer.error().ToString();
    }
  }
  if (session.json) {
    fmt::print("{{\"version\":\"{}\"{}}}\n", kVersion,
               server ? ",\"controller\":" + ViewToJson(*server) : std::string());
    return kExitOk;
  }
  fmt::print("muster {}\n", kVersion);
  if (server) {
    fmt::print("controller {} (pid {}, store {}, epoch {}, {} active jobs)\n", server->version,
               server->pid, server->store_id, server->epoch, server->jobs_active);
    if (server->version != kVersion) {
      fmt::print(stderr, "muster: the controller's version differs; restart it with this program\n");
    }
  } else if (!trouble.empty()) {
    fmt::print(stderr, "muster: {}\n", trouble);
  }
  return kExitOk;
}

int Completion(const std::string& shell) {
  if (shell == "bash") PrintBash();
  if (shell == "zsh") PrintZsh();
  if (shell == "fish") PrintFish();
  return kExitOk;
}

}  // namespace muster::cli
