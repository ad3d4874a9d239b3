# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_rat_things_global_optspecs
    string join \n P/profile= data-dir= read-only no-autostart endpoint-url= o/output= json color= q/quiet v/verbose no-input stats h/help V/version
end

function __fish_rat_things_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_rat_things_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_rat_things_using_subcommand
    set -l cmd (__fish_rat_things_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c rat-things -n "__fish_rat_things_needs_command" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_needs_command" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_needs_command" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_needs_command" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_needs_command" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_needs_command" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_needs_command" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_needs_command" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_needs_command" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_needs_command" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_needs_command" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_needs_command" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_needs_command" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_needs_command" -s V -l version -d 'Print version'
complete -c rat-things -n "__fish_rat_things_needs_command" -f -a "tui" -d 'Browse Sessions, follow one live, write to its agent'
complete -c rat-things -n "__fish_rat_things_needs_command" -f -a "sessions" -d 'Create Sessions, talk to them, and see what they did'
complete -c rat-things -n "__fish_rat_things_needs_command" -f -a "artifacts" -d 'Get the files that Sessions made'
complete -c rat-things -n "__fish_rat_things_needs_command" -f -a "agents" -d 'Saved Agents: named configurations that Sessions are created from'
complete -c rat-things -n "__fish_rat_things_needs_command" -f -a "environments" -d 'Where commands of Sessions run: how an environment stands, and how it ends for good'
complete -c rat-things -n "__fish_rat_things_needs_command" -f -a "keys" -d 'Access keys for the HTTP API'
complete -c rat-things -n "__fish_rat_things_needs_command" -f -a "runs" -d 'Launches of workers for Sessions, and how to end a quarantine'
complete -c rat-things -n "__fish_rat_things_needs_command" -f -a "outbox" -d 'What is due: the work that Sessions owe'
complete -c rat-things -n "__fish_rat_things_needs_command" -f -a "daemon" -d 'The background process that gives work to workers'
complete -c rat-things -n "__fish_rat_things_needs_command" -f -a "aws" -d 'Set up a deployment in an AWS account, look at it, do away with it'
complete -c rat-things -n "__fish_rat_things_needs_command" -f -a "doctor" -d 'Check this machine, the store and the configuration'
complete -c rat-things -n "__fish_rat_things_needs_command" -f -a "fsck" -d 'Check every record and every byte that is stored, and repair what is safe to repair'
complete -c rat-things -n "__fish_rat_things_needs_command" -f -a "config" -d 'The configuration in force, and where each value comes from'
complete -c rat-things -n "__fish_rat_things_needs_command" -f -a "completions" -d 'Print a completion script for a shell'
complete -c rat-things -n "__fish_rat_things_needs_command" -f -a "version" -d 'Print versions: this program, the API it speaks, the daemon that runs'
complete -c rat-things -n "__fish_rat_things_needs_command" -f -a "help" -d 'Explain a command, an error code, or a topic: exit-codes, environment, formats'
complete -c rat-things -n "__fish_rat_things_using_subcommand tui" -l demo -d 'Show so many made-up Sessions (100, 100k, 1m) instead: nothing is read, sent or kept' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand tui" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand tui" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand tui" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand tui" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand tui" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand tui" -l ascii -d 'Draw marks and lines in ASCII'
complete -c rat-things -n "__fish_rat_things_using_subcommand tui" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand tui" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand tui" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand tui" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand tui" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand tui" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand tui" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand tui" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and not __fish_seen_subcommand_from create list get update send cancel answer turns items subagents events artifacts wait explain export import delete" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and not __fish_seen_subcommand_from create list get update send cancel answer turns items subagents events artifacts wait explain export import delete" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and not __fish_seen_subcommand_from create list get update send cancel answer turns items subagents events artifacts wait explain export import delete" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and not __fish_seen_subcommand_from create list get update send cancel answer turns items subagents events artifacts wait explain export import delete" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and not __fish_seen_subcommand_from create list get update send cancel answer turns items subagents events artifacts wait explain export import delete" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and not __fish_seen_subcommand_from create list get update send cancel answer turns items subagents events artifacts wait explain export import delete" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and not __fish_seen_subcommand_from create list get update send cancel answer turns items subagents events artifacts wait explain export import delete" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and not __fish_seen_subcommand_from create list get update send cancel answer turns items subagents events artifacts wait explain export import delete" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and not __fish_seen_subcommand_from create list get update send cancel answer turns items subagents events artifacts wait explain export import delete" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and not __fish_seen_subcommand_from create list get update send cancel answer turns items subagents events artifacts wait explain export import delete" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and not __fish_seen_subcommand_from create list get update send cancel answer turns items subagents events artifacts wait explain export import delete" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and not __fish_seen_subcommand_from create list get update send cancel answer turns items subagents events artifacts wait explain export import delete" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and not __fish_seen_subcommand_from create list get update send cancel answer turns items subagents events artifacts wait explain export import delete" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and not __fish_seen_subcommand_from create list get update send cancel answer turns items subagents events artifacts wait explain export import delete" -f -a "create" -d 'Create a Session, usually with a first message'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and not __fish_seen_subcommand_from create list get update send cancel answer turns items subagents events artifacts wait explain export import delete" -f -a "list" -d 'List Sessions, newest first'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and not __fish_seen_subcommand_from create list get update send cancel answer turns items subagents events artifacts wait explain export import delete" -f -a "get" -d 'Show one Session'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and not __fish_seen_subcommand_from create list get update send cancel answer turns items subagents events artifacts wait explain export import delete" -f -a "update" -d 'Change a Session\'s title, metadata or model'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and not __fish_seen_subcommand_from create list get update send cancel answer turns items subagents events artifacts wait explain export import delete" -f -a "send" -d 'Send a message: it starts a Turn, or steers the one that runs'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and not __fish_seen_subcommand_from create list get update send cancel answer turns items subagents events artifacts wait explain export import delete" -f -a "cancel" -d 'Stop the active Turn, or the one that is named'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and not __fish_seen_subcommand_from create list get update send cancel answer turns items subagents events artifacts wait explain export import delete" -f -a "answer" -d 'Answer a function call that a Turn waits for'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and not __fish_seen_subcommand_from create list get update send cancel answer turns items subagents events artifacts wait explain export import delete" -f -a "turns" -d 'List a Session\'s Turns'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and not __fish_seen_subcommand_from create list get update send cancel answer turns items subagents events artifacts wait explain export import delete" -f -a "items" -d 'List a Session\'s Items: the transcript'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and not __fish_seen_subcommand_from create list get update send cancel answer turns items subagents events artifacts wait explain export import delete" -f -a "subagents" -d 'List a Session\'s subagents, or the transcript of one'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and not __fish_seen_subcommand_from create list get update send cancel answer turns items subagents events artifacts wait explain export import delete" -f -a "events" -d 'List what changed in a Session, in order'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and not __fish_seen_subcommand_from create list get update send cancel answer turns items subagents events artifacts wait explain export import delete" -f -a "artifacts" -d 'List the files that a Session\'s Turns left in /workspace/outputs'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and not __fish_seen_subcommand_from create list get update send cancel answer turns items subagents events artifacts wait explain export import delete" -f -a "wait" -d 'Wait until a Session\'s work is over'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and not __fish_seen_subcommand_from create list get update send cancel answer turns items subagents events artifacts wait explain export import delete" -f -a "explain" -d 'Say why a Session does or does not move, and what would unblock it'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and not __fish_seen_subcommand_from create list get update send cancel answer turns items subagents events artifacts wait explain export import delete" -f -a "export" -d 'Write a Session to a file that another store can import'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and not __fish_seen_subcommand_from create list get update send cancel answer turns items subagents events artifacts wait explain export import delete" -f -a "import" -d 'Import a Session that was exported'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and not __fish_seen_subcommand_from create list get update send cancel answer turns items subagents events artifacts wait explain export import delete" -f -a "delete" -d 'Delete a Session, its files and its environment'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from create" -l input -d 'The first message; - reads standard input' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from create" -l agent-id -d 'A saved Agent: its id, or the beginning of it' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from create" -l model -d 'The model [default: the profile\'s]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from create" -l instructions -d 'Instructions for the agent' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from create" -l harness -d 'What drives the agent: responses or codex [default: the Agent\'s, or the profile\'s]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from create" -l environment -d 'Where commands run: managed, a sandbox with a workspace; or none, and the agent has no shell [default: managed]' -r -f -a "none\t'Nowhere: the agent has no shell'
managed\t'In a sandbox with a workspace'"
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from create" -l network -d 'What commands may reach: disabled, restricted (the hosts given with --allow) or enabled (every public host) [default: the profile\'s]' -r -f -a "disabled\t'Nothing'
restricted\t'The hosts given with --allow'
enabled\t'Every public host'"
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from create" -l allow -d 'A host that commands may reach, with --network restricted; repeat it for more' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from create" -l metadata -d 'A name and a value to keep with the Session; repeat it for more' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from create" -l title -d 'A title for lists' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from create" -s f -l file -d 'The whole request as the Agents API has it; - reads standard input' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from create" -l idempotency-key -d 'The same key with the same content is accepted once, however often it is sent [default: a random key]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from create" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from create" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from create" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from create" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from create" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from create" -l wait -d 'Follow the Turn to its end [default: on a terminal]'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from create" -l no-wait -d 'Answer as soon as the Session is accepted [default: off a terminal]'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from create" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from create" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from create" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from create" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from create" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from create" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from create" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from create" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from list" -l limit -d 'Entries at most' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from list" -l after -d 'Continue behind this id' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from list" -l order -d 'Which end comes first: asc, the oldest; or desc, the newest' -r -f -a "asc\t'Oldest first'
desc\t'Newest first'"
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from list" -l status -d 'Only in this state; repeat it for more' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from list" -l agent-id -d 'Only of this saved Agent' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from list" -l metadata -d 'Only with this name and value; repeat it for more' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from list" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from list" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from list" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from list" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from list" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from list" -l all -d 'Everything, page by page'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from list" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from list" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from list" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from list" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from list" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from list" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from list" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from get" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from get" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from get" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from get" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from get" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from get" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from get" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from get" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from get" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from get" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from get" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from get" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from get" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from update" -l title -d 'A title for lists; an empty one removes it' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from update" -l metadata -d 'A name and a value to keep; an empty value removes the name; repeat it for more' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from update" -l model -d 'The model of later Turns' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from update" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from update" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from update" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from update" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from update" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from update" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from update" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from update" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from update" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from update" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from update" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from update" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from update" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from send" -l input -d 'The message; - reads standard input' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from send" -l idempotency-key -d 'The same key with the same content is accepted once, however often it is sent [default: a random key]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from send" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from send" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from send" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from send" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from send" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from send" -l queue -d 'Start the next Turn instead of steering the one that runs'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from send" -l wait -d 'Follow the Turn to its end [default: on a terminal]'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from send" -l no-wait -d 'Answer as soon as the message is accepted [default: off a terminal]'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from send" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from send" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from send" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from send" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from send" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from send" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from send" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from send" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from cancel" -l turn -d 'Only this Turn: its id, or the beginning of it' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from cancel" -l idempotency-key -d 'The same key with the same content is accepted once, however often it is sent [default: a random key]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from cancel" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from cancel" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from cancel" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from cancel" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from cancel" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from cancel" -l no-wait -d 'Answer as soon as the cancel is accepted'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from cancel" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from cancel" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from cancel" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from cancel" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from cancel" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from cancel" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from cancel" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from cancel" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from answer" -l call -d 'The call; may be left out when only one is open' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from answer" -l result -d 'What the function returned; - reads standard input' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from answer" -l error -d 'Why the function failed' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from answer" -l idempotency-key -d 'The same key with the same content is accepted once, however often it is sent [default: a random key]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from answer" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from answer" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from answer" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from answer" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from answer" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from answer" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from answer" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from answer" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from answer" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from answer" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from answer" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from answer" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from answer" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from turns" -l limit -d 'Entries at most' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from turns" -l after -d 'Continue behind this id' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from turns" -l order -d 'Which end comes first: asc, the oldest; or desc, the newest' -r -f -a "asc\t'Oldest first'
desc\t'Newest first'"
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from turns" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from turns" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from turns" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from turns" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from turns" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from turns" -l all -d 'Everything, page by page'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from turns" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from turns" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from turns" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from turns" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from turns" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from turns" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from turns" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from turns" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from items" -l turn -d 'Only of this Turn: its id, or the beginning of it' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from items" -l limit -d 'Entries at most' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from items" -l after -d 'Continue behind this id' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from items" -l order -d 'Which end comes first: asc, the oldest; or desc, the newest' -r -f -a "asc\t'Oldest first'
desc\t'Newest first'"
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from items" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from items" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from items" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from items" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from items" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from items" -l all -d 'Everything, page by page'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from items" -l follow -d 'Print Items as they come, until the Session\'s work is over'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from items" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from items" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from items" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from items" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from items" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from items" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from items" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from items" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from subagents" -l limit -d 'Entries at most' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from subagents" -l after -d 'Continue behind this id' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from subagents" -l order -d 'Which end comes first: asc, the oldest; or desc, the newest' -r -f -a "asc\t'Oldest first'
desc\t'Newest first'"
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from subagents" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from subagents" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from subagents" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from subagents" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from subagents" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from subagents" -l all -d 'Everything, page by page'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from subagents" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from subagents" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from subagents" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from subagents" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from subagents" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from subagents" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from subagents" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from subagents" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from events" -l limit -d 'Events at most' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from events" -l after -d 'Continue behind this event' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from events" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from events" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from events" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from events" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from events" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from events" -l all -d 'Everything'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from events" -l follow -d 'Print events as they come, and text as it is written, until the Session\'s work is over'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from events" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from events" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from events" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from events" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from events" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from events" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from events" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from events" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from artifacts" -l turn -d 'Only of this Turn: its id, or the beginning of it' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from artifacts" -l limit -d 'Entries at most' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from artifacts" -l after -d 'Continue behind this id' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from artifacts" -l order -d 'Which end comes first: asc, the oldest; or desc, the newest' -r -f -a "asc\t'Oldest first'
desc\t'Newest first'"
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from artifacts" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from artifacts" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from artifacts" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from artifacts" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from artifacts" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from artifacts" -l all -d 'Everything, page by page'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from artifacts" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from artifacts" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from artifacts" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from artifacts" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from artifacts" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from artifacts" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from artifacts" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from artifacts" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from wait" -l turn -d 'Only until this Turn is over: its id, or the beginning of it' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from wait" -l timeout -d 'Give up after so long: 30s, 10m, 2h' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from wait" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from wait" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from wait" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from wait" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from wait" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from wait" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from wait" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from wait" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from wait" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from wait" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from wait" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from wait" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from wait" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from explain" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from explain" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from explain" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from explain" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from explain" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from explain" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from explain" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from explain" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from explain" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from explain" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from explain" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from explain" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from explain" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from export" -l to -d 'The file to write, for you alone; a directory takes SESSION.tar.zst' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from export" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from export" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from export" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from export" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from export" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from export" -l force -d 'Replace a file that has the name already'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from export" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from export" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from export" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from export" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from export" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from export" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from export" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from export" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from import" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from import" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from import" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from import" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from import" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from import" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from import" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from import" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from import" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from import" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from import" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from import" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from import" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from delete" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from delete" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from delete" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from delete" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from delete" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from delete" -l yes -d 'Do not ask'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from delete" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from delete" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from delete" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from delete" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from delete" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from delete" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from delete" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand sessions; and __fish_seen_subcommand_from delete" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand artifacts; and not __fish_seen_subcommand_from get delete" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand artifacts; and not __fish_seen_subcommand_from get delete" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand artifacts; and not __fish_seen_subcommand_from get delete" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand artifacts; and not __fish_seen_subcommand_from get delete" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand artifacts; and not __fish_seen_subcommand_from get delete" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand artifacts; and not __fish_seen_subcommand_from get delete" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand artifacts; and not __fish_seen_subcommand_from get delete" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand artifacts; and not __fish_seen_subcommand_from get delete" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand artifacts; and not __fish_seen_subcommand_from get delete" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand artifacts; and not __fish_seen_subcommand_from get delete" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand artifacts; and not __fish_seen_subcommand_from get delete" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand artifacts; and not __fish_seen_subcommand_from get delete" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand artifacts; and not __fish_seen_subcommand_from get delete" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand artifacts; and not __fish_seen_subcommand_from get delete" -f -a "get" -d 'Get the bytes of an Artifact, verified by their digest'
complete -c rat-things -n "__fish_rat_things_using_subcommand artifacts; and not __fish_seen_subcommand_from get delete" -f -a "delete" -d 'Delete an Artifact'
complete -c rat-things -n "__fish_rat_things_using_subcommand artifacts; and __fish_seen_subcommand_from get" -l to -d 'The file to write; a directory takes the Artifact\'s own name; - is standard output [default: standard output, if it is no terminal]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand artifacts; and __fish_seen_subcommand_from get" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand artifacts; and __fish_seen_subcommand_from get" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand artifacts; and __fish_seen_subcommand_from get" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand artifacts; and __fish_seen_subcommand_from get" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand artifacts; and __fish_seen_subcommand_from get" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand artifacts; and __fish_seen_subcommand_from get" -l force -d 'Replace a file that has the name already'
complete -c rat-things -n "__fish_rat_things_using_subcommand artifacts; and __fish_seen_subcommand_from get" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand artifacts; and __fish_seen_subcommand_from get" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand artifacts; and __fish_seen_subcommand_from get" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand artifacts; and __fish_seen_subcommand_from get" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand artifacts; and __fish_seen_subcommand_from get" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand artifacts; and __fish_seen_subcommand_from get" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand artifacts; and __fish_seen_subcommand_from get" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand artifacts; and __fish_seen_subcommand_from get" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand artifacts; and __fish_seen_subcommand_from delete" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand artifacts; and __fish_seen_subcommand_from delete" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand artifacts; and __fish_seen_subcommand_from delete" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand artifacts; and __fish_seen_subcommand_from delete" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand artifacts; and __fish_seen_subcommand_from delete" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand artifacts; and __fish_seen_subcommand_from delete" -l yes -d 'Do not ask'
complete -c rat-things -n "__fish_rat_things_using_subcommand artifacts; and __fish_seen_subcommand_from delete" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand artifacts; and __fish_seen_subcommand_from delete" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand artifacts; and __fish_seen_subcommand_from delete" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand artifacts; and __fish_seen_subcommand_from delete" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand artifacts; and __fish_seen_subcommand_from delete" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand artifacts; and __fish_seen_subcommand_from delete" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand artifacts; and __fish_seen_subcommand_from delete" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand artifacts; and __fish_seen_subcommand_from delete" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and not __fish_seen_subcommand_from create list get update delete" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and not __fish_seen_subcommand_from create list get update delete" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and not __fish_seen_subcommand_from create list get update delete" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and not __fish_seen_subcommand_from create list get update delete" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and not __fish_seen_subcommand_from create list get update delete" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and not __fish_seen_subcommand_from create list get update delete" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and not __fish_seen_subcommand_from create list get update delete" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and not __fish_seen_subcommand_from create list get update delete" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and not __fish_seen_subcommand_from create list get update delete" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and not __fish_seen_subcommand_from create list get update delete" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and not __fish_seen_subcommand_from create list get update delete" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and not __fish_seen_subcommand_from create list get update delete" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and not __fish_seen_subcommand_from create list get update delete" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and not __fish_seen_subcommand_from create list get update delete" -f -a "create" -d 'Save a new Agent'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and not __fish_seen_subcommand_from create list get update delete" -f -a "list" -d 'List saved Agents, newest first'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and not __fish_seen_subcommand_from create list get update delete" -f -a "get" -d 'Show one saved Agent'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and not __fish_seen_subcommand_from create list get update delete" -f -a "update" -d 'Change a saved Agent; Sessions that exist keep what they were created with'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and not __fish_seen_subcommand_from create list get update delete" -f -a "delete" -d 'Forget a saved Agent; Sessions created from it go on'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from create" -l model -d 'The model' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from create" -l name -d 'A name for people' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from create" -l instructions -d 'What the model is told before everything else; - reads standard input' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from create" -l harness -d 'What drives the agent: responses or codex [default: the profile\'s]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from create" -l metadata -d 'A name and a value to keep with the Agent; repeat it for more' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from create" -s f -l file -d 'The whole request as the Agents API has it, with tools and all; - reads standard input' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from create" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from create" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from create" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from create" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from create" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from create" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from create" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from create" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from create" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from create" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from create" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from create" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from create" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from list" -l limit -d 'Entries at most' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from list" -l after -d 'Continue behind this id' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from list" -l order -d 'Which end comes first: asc, the oldest; or desc, the newest' -r -f -a "asc\t'Oldest first'
desc\t'Newest first'"
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from list" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from list" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from list" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from list" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from list" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from list" -l all -d 'Everything, page by page'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from list" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from list" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from list" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from list" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from list" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from list" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from list" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from get" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from get" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from get" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from get" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from get" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from get" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from get" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from get" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from get" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from get" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from get" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from get" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from get" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from update" -l model -d 'The model' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from update" -l name -d 'A name for people; an empty one removes it' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from update" -l instructions -d 'What the model is told before everything else; - reads standard input, an empty one removes it' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from update" -l harness -d 'What drives the agent: responses or codex; an empty one leaves it to the profile' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from update" -l metadata -d 'A name and a value to keep; an empty value removes the name; repeat it for more' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from update" -s f -l file -d 'The whole request as the Agents API has it; - reads standard input' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from update" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from update" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from update" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from update" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from update" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from update" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from update" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from update" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from update" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from update" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from update" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from update" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from update" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from delete" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from delete" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from delete" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from delete" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from delete" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from delete" -l yes -d 'Do not ask'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from delete" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from delete" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from delete" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from delete" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from delete" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from delete" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from delete" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand agents; and __fish_seen_subcommand_from delete" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand environments; and not __fish_seen_subcommand_from get expire" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand environments; and not __fish_seen_subcommand_from get expire" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand environments; and not __fish_seen_subcommand_from get expire" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand environments; and not __fish_seen_subcommand_from get expire" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand environments; and not __fish_seen_subcommand_from get expire" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand environments; and not __fish_seen_subcommand_from get expire" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand environments; and not __fish_seen_subcommand_from get expire" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand environments; and not __fish_seen_subcommand_from get expire" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand environments; and not __fish_seen_subcommand_from get expire" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand environments; and not __fish_seen_subcommand_from get expire" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand environments; and not __fish_seen_subcommand_from get expire" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand environments; and not __fish_seen_subcommand_from get expire" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand environments; and not __fish_seen_subcommand_from get expire" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand environments; and not __fish_seen_subcommand_from get expire" -f -a "get" -d 'Show one environment: its state, and what was put there'
complete -c rat-things -n "__fish_rat_things_using_subcommand environments; and not __fish_seen_subcommand_from get expire" -f -a "expire" -d 'End an environment for good; its Session stays readable and takes no more messages'
complete -c rat-things -n "__fish_rat_things_using_subcommand environments; and __fish_seen_subcommand_from get" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand environments; and __fish_seen_subcommand_from get" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand environments; and __fish_seen_subcommand_from get" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand environments; and __fish_seen_subcommand_from get" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand environments; and __fish_seen_subcommand_from get" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand environments; and __fish_seen_subcommand_from get" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand environments; and __fish_seen_subcommand_from get" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand environments; and __fish_seen_subcommand_from get" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand environments; and __fish_seen_subcommand_from get" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand environments; and __fish_seen_subcommand_from get" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand environments; and __fish_seen_subcommand_from get" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand environments; and __fish_seen_subcommand_from get" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand environments; and __fish_seen_subcommand_from get" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand environments; and __fish_seen_subcommand_from expire" -l reason -d 'Why, for whoever reads the Session later' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand environments; and __fish_seen_subcommand_from expire" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand environments; and __fish_seen_subcommand_from expire" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand environments; and __fish_seen_subcommand_from expire" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand environments; and __fish_seen_subcommand_from expire" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand environments; and __fish_seen_subcommand_from expire" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand environments; and __fish_seen_subcommand_from expire" -l yes -d 'Do not ask'
complete -c rat-things -n "__fish_rat_things_using_subcommand environments; and __fish_seen_subcommand_from expire" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand environments; and __fish_seen_subcommand_from expire" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand environments; and __fish_seen_subcommand_from expire" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand environments; and __fish_seen_subcommand_from expire" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand environments; and __fish_seen_subcommand_from expire" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand environments; and __fish_seen_subcommand_from expire" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand environments; and __fish_seen_subcommand_from expire" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand environments; and __fish_seen_subcommand_from expire" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and not __fish_seen_subcommand_from create list revoke" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and not __fish_seen_subcommand_from create list revoke" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and not __fish_seen_subcommand_from create list revoke" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and not __fish_seen_subcommand_from create list revoke" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and not __fish_seen_subcommand_from create list revoke" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and not __fish_seen_subcommand_from create list revoke" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and not __fish_seen_subcommand_from create list revoke" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and not __fish_seen_subcommand_from create list revoke" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and not __fish_seen_subcommand_from create list revoke" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and not __fish_seen_subcommand_from create list revoke" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and not __fish_seen_subcommand_from create list revoke" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and not __fish_seen_subcommand_from create list revoke" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and not __fish_seen_subcommand_from create list revoke" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and not __fish_seen_subcommand_from create list revoke" -f -a "create" -d 'Make a key that opens your Sessions over HTTP; it is shown once'
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and not __fish_seen_subcommand_from create list revoke" -f -a "list" -d 'List keys, without what proves them'
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and not __fish_seen_subcommand_from create list revoke" -f -a "revoke" -d 'Take a key\'s power away, at once and for good'
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from create" -l name -d 'What you call it: who uses it, or for what' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from create" -l expires -d 'It opens nothing any more after so long: 15m, 12h, 90d [default: never]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from create" -l scope -d 'What it may be used for; repeat for more: api.agents.read, api.agents.write, api.responses.write, api.vaults.read, api.vaults.write, api.files.read, api.files.write [default: everything]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from create" -l rate -d 'Requests a second; twice as many may come at once [default: daemon.requests_per_second]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from create" -l max-body -d 'Longest body of a request: 4096, 64KiB, 2MiB [default: 16MiB, which is the most]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from create" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from create" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from create" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from create" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from create" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from create" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from create" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from create" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from create" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from create" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from create" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from create" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from create" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from list" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from list" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from list" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from list" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from list" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from list" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from list" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from list" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from list" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from list" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from list" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from list" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from revoke" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from revoke" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from revoke" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from revoke" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from revoke" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from revoke" -l yes -d 'Do not ask'
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from revoke" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from revoke" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from revoke" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from revoke" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from revoke" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from revoke" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from revoke" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand keys; and __fish_seen_subcommand_from revoke" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and not __fish_seen_subcommand_from list show release stop" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and not __fish_seen_subcommand_from list show release stop" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and not __fish_seen_subcommand_from list show release stop" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and not __fish_seen_subcommand_from list show release stop" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and not __fish_seen_subcommand_from list show release stop" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and not __fish_seen_subcommand_from list show release stop" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and not __fish_seen_subcommand_from list show release stop" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and not __fish_seen_subcommand_from list show release stop" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and not __fish_seen_subcommand_from list show release stop" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and not __fish_seen_subcommand_from list show release stop" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and not __fish_seen_subcommand_from list show release stop" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and not __fish_seen_subcommand_from list show release stop" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and not __fish_seen_subcommand_from list show release stop" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and not __fish_seen_subcommand_from list show release stop" -f -a "list" -d 'List a Session\'s Runs, those that are active anywhere, or machines'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and not __fish_seen_subcommand_from list show release stop" -f -a "show" -d 'Show one Run'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and not __fish_seen_subcommand_from list show release stop" -f -a "release" -d 'End a quarantine: you vouch that the Run\'s worker is gone'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and not __fish_seen_subcommand_from list show release stop" -f -a "stop" -d 'Fence every Run and end every worker and machine'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from list" -l limit -d 'Entries at most' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from list" -l after -d 'Continue behind this id' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from list" -l order -d 'Which end comes first: asc, the oldest; or desc, the newest' -r -f -a "asc\t'Oldest first'
desc\t'Newest first'"
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from list" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from list" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from list" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from list" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from list" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from list" -l all-active -d 'Runs of every Session that hold a lease or are in quarantine'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from list" -l machines -d 'Machines that exist for Sessions, of every owner: how old each is, and what it cost'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from list" -l all -d 'Everything, page by page'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from list" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from list" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from list" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from list" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from list" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from list" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from list" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from show" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from show" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from show" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from show" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from show" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from show" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from show" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from show" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from show" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from show" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from show" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from show" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from release" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from release" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from release" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from release" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from release" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from release" -l yes -d 'Do not ask'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from release" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from release" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from release" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from release" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from release" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from release" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from release" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from release" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from stop" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from stop" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from stop" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from stop" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from stop" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from stop" -l all -d 'Everything; there is no other choice'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from stop" -l yes -d 'Do not ask'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from stop" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from stop" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from stop" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from stop" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from stop" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from stop" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from stop" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand runs; and __fish_seen_subcommand_from stop" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand outbox; and not __fish_seen_subcommand_from list" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand outbox; and not __fish_seen_subcommand_from list" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand outbox; and not __fish_seen_subcommand_from list" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand outbox; and not __fish_seen_subcommand_from list" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand outbox; and not __fish_seen_subcommand_from list" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand outbox; and not __fish_seen_subcommand_from list" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand outbox; and not __fish_seen_subcommand_from list" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand outbox; and not __fish_seen_subcommand_from list" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand outbox; and not __fish_seen_subcommand_from list" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand outbox; and not __fish_seen_subcommand_from list" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand outbox; and not __fish_seen_subcommand_from list" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand outbox; and not __fish_seen_subcommand_from list" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand outbox; and not __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand outbox; and not __fish_seen_subcommand_from list" -f -a "list" -d 'List what is due, soonest first'
complete -c rat-things -n "__fish_rat_things_using_subcommand outbox; and __fish_seen_subcommand_from list" -l limit -d 'Entries at most' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand outbox; and __fish_seen_subcommand_from list" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand outbox; and __fish_seen_subcommand_from list" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand outbox; and __fish_seen_subcommand_from list" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand outbox; and __fish_seen_subcommand_from list" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand outbox; and __fish_seen_subcommand_from list" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand outbox; and __fish_seen_subcommand_from list" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand outbox; and __fish_seen_subcommand_from list" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand outbox; and __fish_seen_subcommand_from list" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand outbox; and __fish_seen_subcommand_from list" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand outbox; and __fish_seen_subcommand_from list" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand outbox; and __fish_seen_subcommand_from list" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand outbox; and __fish_seen_subcommand_from list" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand outbox; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and not __fish_seen_subcommand_from run start stop status" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and not __fish_seen_subcommand_from run start stop status" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and not __fish_seen_subcommand_from run start stop status" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and not __fish_seen_subcommand_from run start stop status" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and not __fish_seen_subcommand_from run start stop status" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and not __fish_seen_subcommand_from run start stop status" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and not __fish_seen_subcommand_from run start stop status" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and not __fish_seen_subcommand_from run start stop status" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and not __fish_seen_subcommand_from run start stop status" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and not __fish_seen_subcommand_from run start stop status" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and not __fish_seen_subcommand_from run start stop status" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and not __fish_seen_subcommand_from run start stop status" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and not __fish_seen_subcommand_from run start stop status" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and not __fish_seen_subcommand_from run start stop status" -f -a "run" -d 'Run the daemon in the foreground until Ctrl-C'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and not __fish_seen_subcommand_from run start stop status" -f -a "start" -d 'Start the daemon in the background, if none runs'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and not __fish_seen_subcommand_from run start stop status" -f -a "stop" -d 'Stop the daemon: running Turns get a grace period, then their leases are given back'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and not __fish_seen_subcommand_from run start stop status" -f -a "status" -d 'Whether a daemon runs, and which one'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from run" -l listen -d 'Serve the Agents API over HTTP on this address and port [default: daemon.listen, else not]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from run" -l tls-cert -d 'PEM file of the certificate to serve with; read again when it changes [default: daemon.tls_cert, else no TLS]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from run" -l tls-key -d 'PEM file of the certificate\'s private key [default: daemon.tls_key]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from run" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from run" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from run" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from run" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from run" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from run" -l no-auth -d 'Serve everybody on this machine as you, without access keys'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from run" -l allow-remote -d 'Listen on an address that other machines reach, without TLS'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from run" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from run" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from run" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from run" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from run" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from run" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from run" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from start" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from start" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from start" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from start" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from start" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from start" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from start" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from start" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from start" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from start" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from start" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from start" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from start" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from stop" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from stop" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from stop" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from stop" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from stop" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from stop" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from stop" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from stop" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from stop" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from stop" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from stop" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from stop" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from stop" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from status" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from status" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from status" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from status" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from status" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from status" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from status" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from status" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from status" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from status" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from status" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from status" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand daemon; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and not __fish_seen_subcommand_from init plan destroy policy template" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and not __fish_seen_subcommand_from init plan destroy policy template" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and not __fish_seen_subcommand_from init plan destroy policy template" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and not __fish_seen_subcommand_from init plan destroy policy template" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and not __fish_seen_subcommand_from init plan destroy policy template" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and not __fish_seen_subcommand_from init plan destroy policy template" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and not __fish_seen_subcommand_from init plan destroy policy template" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and not __fish_seen_subcommand_from init plan destroy policy template" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and not __fish_seen_subcommand_from init plan destroy policy template" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and not __fish_seen_subcommand_from init plan destroy policy template" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and not __fish_seen_subcommand_from init plan destroy policy template" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and not __fish_seen_subcommand_from init plan destroy policy template" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and not __fish_seen_subcommand_from init plan destroy policy template" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and not __fish_seen_subcommand_from init plan destroy policy template" -f -a "init" -d 'Set a deployment up, or mend it'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and not __fish_seen_subcommand_from init plan destroy policy template" -f -a "plan" -d 'Look at what is there against what is wanted'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and not __fish_seen_subcommand_from init plan destroy policy template" -f -a "destroy" -d 'Do away with a deployment'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and not __fish_seen_subcommand_from init plan destroy policy template" -f -a "policy" -d 'Print the least that a role must be permitted, as an IAM policy'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and not __fish_seen_subcommand_from init plan destroy policy template" -f -a "template" -d 'Print the whole deployment, roles included, as a CloudFormation template'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from init" -l deployment -d 'Its name, which everything of it has in its own [default: the profile\'s, or rat-things]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from init" -l region -d 'Its region [default: the profile\'s, or where every AWS tool finds it]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from init" -l vpc -d 'Network of its workers [default: the account\'s default one]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from init" -l kms-key -d 'ARN of the KMS key that encrypts it [default: the profile\'s, or AWS\' own keys]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from init" -l binary -d 'The program that workers run [default: this one]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from init" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from init" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from init" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from init" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from init" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from init" -l x86-64 -d 'Run workers on Intel and AMD instead of Graviton'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from init" -l without-workers -d 'Table and bucket only, for daemons that run agents on their own machines'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from init" -l yes -d 'Do not ask'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from init" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from init" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from init" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from init" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from init" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from init" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from init" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from init" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from plan" -l deployment -d 'Its name, which everything of it has in its own [default: the profile\'s, or rat-things]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from plan" -l region -d 'Its region [default: the profile\'s, or where every AWS tool finds it]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from plan" -l vpc -d 'Network of its workers [default: the account\'s default one]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from plan" -l kms-key -d 'ARN of the KMS key that encrypts it [default: the profile\'s, or AWS\' own keys]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from plan" -l binary -d 'The program that workers run [default: this one]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from plan" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from plan" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from plan" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from plan" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from plan" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from plan" -l x86-64 -d 'Run workers on Intel and AMD instead of Graviton'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from plan" -l without-workers -d 'Table and bucket only, for daemons that run agents on their own machines'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from plan" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from plan" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from plan" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from plan" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from plan" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from plan" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from plan" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from plan" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from destroy" -l deployment -d 'Its name, which everything of it has in its own [default: the profile\'s, or rat-things]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from destroy" -l region -d 'Its region [default: the profile\'s, or where every AWS tool finds it]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from destroy" -l vpc -d 'Network of its workers [default: the account\'s default one]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from destroy" -l with-data -d 'Destroy its data, too; the name of the deployment says that it is meant' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from destroy" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from destroy" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from destroy" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from destroy" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from destroy" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from destroy" -l yes -d 'Do not ask; data is kept all the same, unless --with-data names the deployment'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from destroy" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from destroy" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from destroy" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from destroy" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from destroy" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from destroy" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from destroy" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from destroy" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from policy" -l account -d 'The account, twelve digits' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from policy" -l region -d 'The region [default: what AWS_REGION or AWS_DEFAULT_REGION says]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from policy" -l deployment -d 'Its name, which everything of it has in its own' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from policy" -l kms-key -d 'ARN of the KMS key that encrypts it [default: AWS\' own keys]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from policy" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from policy" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from policy" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from policy" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from policy" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from policy" -l x86-64 -d 'Run workers on Intel and AMD instead of Graviton'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from policy" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from policy" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from policy" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from policy" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from policy" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from policy" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from policy" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from policy" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from template" -l deployment -d 'Its name, which everything of it has in its own' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from template" -l kms-key -d 'ARN of the KMS key that encrypts it [default: AWS\' own keys]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from template" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from template" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from template" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from template" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from template" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from template" -l x86-64 -d 'Run workers on Intel and AMD instead of Graviton'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from template" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from template" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from template" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from template" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from template" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from template" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from template" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand aws; and __fish_seen_subcommand_from template" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand doctor" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand doctor" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand doctor" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand doctor" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand doctor" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand doctor" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand doctor" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand doctor" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand doctor" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand doctor" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand doctor" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand doctor" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand doctor" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand fsck" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand fsck" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand fsck" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand fsck" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand fsck" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand fsck" -l repair -d 'Repair what is safe to repair, and say what was done'
complete -c rat-things -n "__fish_rat_things_using_subcommand fsck" -l quick -d 'Do not read stored bytes, only look whether they are there'
complete -c rat-things -n "__fish_rat_things_using_subcommand fsck" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand fsck" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand fsck" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand fsck" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand fsck" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand fsck" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand fsck" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand fsck" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand config; and not __fish_seen_subcommand_from show" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand config; and not __fish_seen_subcommand_from show" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand config; and not __fish_seen_subcommand_from show" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand config; and not __fish_seen_subcommand_from show" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand config; and not __fish_seen_subcommand_from show" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand config; and not __fish_seen_subcommand_from show" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand config; and not __fish_seen_subcommand_from show" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand config; and not __fish_seen_subcommand_from show" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand config; and not __fish_seen_subcommand_from show" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand config; and not __fish_seen_subcommand_from show" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand config; and not __fish_seen_subcommand_from show" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand config; and not __fish_seen_subcommand_from show" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand config; and not __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand config; and not __fish_seen_subcommand_from show" -f -a "show" -d 'Print every setting with its value, and where it comes from'
complete -c rat-things -n "__fish_rat_things_using_subcommand config; and __fish_seen_subcommand_from show" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand config; and __fish_seen_subcommand_from show" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand config; and __fish_seen_subcommand_from show" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand config; and __fish_seen_subcommand_from show" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand config; and __fish_seen_subcommand_from show" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand config; and __fish_seen_subcommand_from show" -l origin -d 'Also say where each value comes from: flag, variable, profile, file, default'
complete -c rat-things -n "__fish_rat_things_using_subcommand config; and __fish_seen_subcommand_from show" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand config; and __fish_seen_subcommand_from show" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand config; and __fish_seen_subcommand_from show" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand config; and __fish_seen_subcommand_from show" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand config; and __fish_seen_subcommand_from show" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand config; and __fish_seen_subcommand_from show" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand config; and __fish_seen_subcommand_from show" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand config; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand completions" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand completions" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand completions" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand completions" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand completions" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand completions" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand completions" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand completions" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand completions" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand completions" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand completions" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand completions" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand completions" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand version" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand version" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand version" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand version" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand version" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand version" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand version" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand version" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand version" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand version" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand version" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand version" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand version" -s h -l help -d 'Print help'
complete -c rat-things -n "__fish_rat_things_using_subcommand help" -s P -l profile -d 'Profile of the configuration file [env: RAT_THINGS_PROFILE]' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand help" -l data-dir -d 'Directory of all data [env: RAT_THINGS_DATA_DIR]' -r -F
complete -c rat-things -n "__fish_rat_things_using_subcommand help" -l endpoint-url -d 'Where all of AWS is, such as an emulator; for a profile of an account' -r
complete -c rat-things -n "__fish_rat_things_using_subcommand help" -s o -l output -d 'Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]' -r -f -a "table\t'Columns for people, fitted to the terminal. The default on a terminal'
wide\t'`table` with more columns'
tsv\t'Full values separated by tabs, no header, `\\t` `\\n` `\\\\` escaped. The default off a terminal'
json\t'The Agents API resource: indented on a terminal, one line elsewhere'
jsonl\t'One JSON object a line, each flushed when it is complete'
yaml\t'The same value as `json`, as YAML'
id\t'Ids only, one a line'"
complete -c rat-things -n "__fish_rat_things_using_subcommand help" -l color -d 'When to use colour: auto, always or never [default: auto]' -r -f -a "auto\t'On a terminal that can, unless the environment says no'
always\t'Even in a pipe'
never\t'Not at all'"
complete -c rat-things -n "__fish_rat_things_using_subcommand help" -l read-only -d 'Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]'
complete -c rat-things -n "__fish_rat_things_using_subcommand help" -l no-autostart -d 'Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]'
complete -c rat-things -n "__fish_rat_things_using_subcommand help" -l json -d 'The same as `-o json`'
complete -c rat-things -n "__fish_rat_things_using_subcommand help" -s q -l quiet -d 'Say nothing but errors; data is printed as ever'
complete -c rat-things -n "__fish_rat_things_using_subcommand help" -s v -l verbose -d 'Say more on standard error; repeat for still more'
complete -c rat-things -n "__fish_rat_things_using_subcommand help" -l no-input -d 'Never ask; fail where an answer would be needed'
complete -c rat-things -n "__fish_rat_things_using_subcommand help" -l stats -d 'Say at the end how many requests were sent to AWS, and what for'
complete -c rat-things -n "__fish_rat_things_using_subcommand help" -s h -l help -d 'Print help'
