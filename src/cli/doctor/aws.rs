//! The checks of a profile whose records are in an AWS account.

use super::check::{Check, Verdict};
use crate::cli::Context;
use crate::cli::compose::setup::{self, Line, Setup, Standing, Wanted};
use crate::cli::out::{CliError, Kind};

/// What is for workers on instances.
const FOR_WORKERS: [&str; 2] = ["security group", "launch template"];
/// Properties without which nothing works.
const GRAVE: [(&str, &str); 2] = [("table", "key"), ("bucket", "region")];

/// Where the profile has its agents run.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Agents {
    /// On the machines of daemons.
    WithDaemons,
    /// On instances of the deployment's own launch template.
    OnInstances,
    /// On instances of a launch template that is somebody else's to look after.
    Elsewhere(String),
}

impl Agents {
    fn of(context: &Context) -> Agents {
        match context.settings.aws.as_ref().map(|aws| &aws.workers) {
            Some(workers) if workers.on_machines => match &workers.launch_template {
                Some(template) => Agents::Elsewhere(template.clone()),
                None => Agents::OnInstances,
            },
            _ => Agents::WithDaemons,
        }
    }

    /// In words.
    fn run(&self) -> String {
        match self {
            Agents::WithDaemons => "agents run on the machines of daemons".to_owned(),
            Agents::OnInstances => "agents run on instances".to_owned(),
            Agents::Elsewhere(template) => format!("agents run on instances of {template}"),
        }
    }
}

/// Who asks, and whether the deployment is as it should be; as far as one needs the other.
pub(super) async fn all(context: &Context) -> Vec<Check> {
    let mut setup = match setup::connect(&context.settings, &Wanted::default()).await {
        Ok(setup) => setup,
        Err(error) => return vec![unconnected(&error)],
    };
    let agents = Agents::of(context);
    let (deployment, account, region) = setup.place();
    let who = format!(
        "{}; deployment {deployment} in account {account}, region {region}",
        setup.caller
    );
    let mut checks = vec![Check::ok("credentials", who)];
    let mut lines = setup.lines().await;
    if lines.as_ref().is_ok_and(|lines| is_for_x86_64(lines)) {
        // It was set up for those processors, and is judged by that.
        let wanted = Wanted {
            x86_64: true,
            ..Wanted::default()
        };
        setup = match setup::connect(&context.settings, &wanted).await {
            Ok(setup) => setup,
            Err(error) => return vec![unconnected(&error)],
        };
        lines = setup.lines().await;
    }
    let lines = match lines {
        Ok(lines) => lines,
        Err(error) => {
            checks.push(Check::from_error("deployment", &error));
            return checks;
        }
    };
    checks.extend(of_resources(&lines, &agents));
    checks.push(program(context, &setup, &lines, &agents).await);
    checks
}

fn unconnected(error: &CliError) -> Check {
    // A name that is none is a matter of the configuration.
    let name = match error.kind {
        Kind::Usage => "deployment",
        _ => "credentials",
    };
    let mut check = Check::from_error(name, error);
    check.auth = error.kind == Kind::Auth;
    check
}

/// Whether the launch template starts from an image for Intel and AMD.
fn is_for_x86_64(lines: &[Line]) -> bool {
    let mut images = { lines.iter() }
        .filter(|line| line.resource == FOR_WORKERS[1] && line.property == "image")
        .filter_map(|line| line.found.as_deref());
    images.any(|image| image.ends_with("x86_64"))
}

/// The image that instances start from, if it is none of Amazon's newest ones, which alone tell here what they are for.
fn own_image(lines: &[Line]) -> Option<&str> {
    let mut images = { lines.iter() }
        .filter(|line| line.resource == FOR_WORKERS[1] && line.property == "image")
        .filter_map(|line| line.found.as_deref());
    images.find(|image| !image.starts_with("resolve:ssm:/aws/service/ami-amazon-linux-latest/"))
}

/// One check of each resource that is as it should be, and one of each property that is not.
fn of_resources(lines: &[Line], agents: &Agents) -> Vec<Check> {
    lines
        .chunk_by(|one, next| one.resource == next.resource)
        .flat_map(|of_one| {
            let resource = of_one[0].resource;
            if of_one.iter().all(|line| line.standing == Standing::Create) {
                return vec![absent(resource, &of_one[0].name, agents)];
            }
            let wrong: Vec<Check> = of_one.iter().filter_map(deviation).collect();
            match wrong.is_empty() {
                true => {
                    let names = of_one.iter().map(|line| line.property);
                    let names: Vec<&str> = names.collect();
                    let found = format!("{}: {}", of_one[0].name, names.join(", "));
                    vec![Check::ok(resource, found)]
                }
                false => wrong,
            }
        })
        .collect()
}

fn absent(resource: &'static str, name: &str, agents: &Agents) -> Check {
    let found = format!("there is no {name}");
    match (FOR_WORKERS.contains(&resource), agents) {
        (true, Agents::WithDaemons | Agents::Elsewhere(_)) => {
            Check::ok(resource, format!("{found}; {}", agents.run()))
        }
        (true, Agents::OnInstances) | (false, _) => {
            Check::failed(resource, found).fix("rat-things aws init")
        }
    }
}

fn deviation(line: &Line) -> Option<Check> {
    let found = line.found.as_deref().unwrap_or("not set");
    if line.standing == Standing::Change && own_image(std::slice::from_ref(line)).is_some() {
        let words = format!(
            "image is {found}, one of your own: it, and which processors it is for, are not judged"
        );
        return Some(Check::ok(line.resource, words));
    }
    let differs = || format!("{} is {found:?}, not {:?}", line.property, line.wanted);
    let grave = line.loses || GRAVE.contains(&(line.resource, line.property));
    let check = match line.standing {
        Standing::Right => return None,
        Standing::Hidden => {
            let words = format!("{} can't be looked at: {found}", line.property);
            return Some(
                Check::warning(line.resource, words)
                    .fix("rat-things aws policy operator prints what who looks must be permitted"),
            );
        }
        Standing::Fixed => Check::failed(line.resource, differs())
            .fix("choose another name with aws.deployment, aws.table or aws.bucket"),
        Standing::Create | Standing::Change => {
            Check::warning(line.resource, differs()).fix("rat-things aws init")
        }
    };
    Some(match grave {
        true => Check {
            verdict: Verdict::Failed,
            ..check
        },
        false => check,
    })
}

/// Whether workers find a program.
async fn program(context: &Context, setup: &Setup, lines: &[Line], agents: &Agents) -> Check {
    const NAME: &str = "program";
    let template = |line: &&Line| line.resource == FOR_WORKERS[1];
    let mut of_template = lines.iter().filter(template);
    let no_template = of_template.all(|line| line.standing == Standing::Create);
    if no_template && *agents == Agents::WithDaemons {
        return Check::ok(NAME, format!("none is needed: {}", agents.run()));
    }
    let aws = context.settings.aws.as_ref();
    let chosen = aws.and_then(|aws| aws.workers.program.as_ref());
    let processors = match own_image(lines) {
        None => Some(setup.architecture()),
        Some(_) => None,
    };
    match setup.programs(processors).await {
        Ok(found) => {
            let processors = processors.unwrap_or("any processors");
            uploaded(NAME, &found, processors, agents, chosen)
        }
        Err(error) => Check::from_error(NAME, &error),
    }
}

/// What it means that these programs are uploaded. `chosen`: the one that the profile names.
fn uploaded(
    name: &'static str,
    found: &[String],
    architecture: &str,
    agents: &Agents,
    chosen: Option<&String>,
) -> Check {
    const UPLOAD: &str =
        "rat-things aws init, with --binary FILE where this machine has other processors";
    let missing = match (agents, chosen) {
        (Agents::Elsewhere(_) | Agents::OnInstances, Some(chosen)) if !found.contains(chosen) => {
            format!("aws.worker_program is {chosen}, which is not uploaded for {architecture}")
        }
        _ if found.is_empty() => format!("none is uploaded for {architecture}"),
        _ => {
            let found = format!("{} uploaded for {architecture}", found.len());
            return Check::ok(name, found);
        }
    };
    match agents {
        Agents::WithDaemons => Check::warning(name, missing).fix(UPLOAD),
        Agents::OnInstances => Check::failed(name, missing).fix(UPLOAD),
        // Its processors are not known.
        Agents::Elsewhere(_) => Check::warning(name, missing).fix(UPLOAD),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn line(resource: &'static str, property: &'static str, standing: Standing) -> Line {
        Line {
            resource,
            name: "n".to_owned(),
            property,
            standing,
            found: (standing != Standing::Create).then(|| "is".to_owned()),
            wanted: "wanted".to_owned(),
            loses: property == "lifecycle",
        }
    }

    fn verdicts(lines: &[Line]) -> Vec<(&'static str, Verdict, usize)> {
        let checks = of_resources(lines, &Agents::WithDaemons).into_iter();
        let seen = checks.map(|check| (check.name, check.verdict, check.fixes.len()));
        seen.collect()
    }

    #[test]
    fn what_is_right_is_one_line_and_what_is_not_has_one_each() {
        let lines = [
            line("table", "key", Standing::Right),
            line("table", "billing", Standing::Right),
            line("bucket", "versioning", Standing::Change),
            line("bucket", "lifecycle", Standing::Change),
            line("bucket", "tag", Standing::Hidden),
            line("bucket", "encryption", Standing::Right),
        ];
        let expected = [
            ("table", Verdict::Ok, 0),
            ("bucket", Verdict::Warning, 1),
            ("bucket", Verdict::Failed, 1),
            ("bucket", Verdict::Warning, 1),
        ];
        assert_eq!(verdicts(&lines), expected);
    }

    #[test]
    fn a_deployment_without_workers_is_whole_and_one_without_a_table_is_not() {
        let lines = [
            line("table", "key", Standing::Create),
            line("table", "billing", Standing::Create),
            line("security group", "inbound", Standing::Create),
            line("launch template", "image", Standing::Create),
        ];
        let expected = [
            ("table", Verdict::Failed, 1),
            ("security group", Verdict::Ok, 0),
            ("launch template", Verdict::Ok, 0),
        ];
        assert_eq!(verdicts(&lines), expected);
    }

    #[test]
    fn another_key_can_not_be_mended() {
        let lines = [line("table", "key", Standing::Fixed)];
        let checks = of_resources(&lines, &Agents::WithDaemons);
        assert_eq!(checks[0].verdict, Verdict::Failed);
        assert!(checks[0].fixes[0].contains("aws.table"), "{checks:?}");
    }

    #[test]
    fn where_agents_run_decides_what_must_be_there() {
        let lines = [
            line("security group", "inbound", Standing::Create),
            line("launch template", "image", Standing::Create),
        ];
        let verdicts = |agents: Agents| {
            let checks = of_resources(&lines, &agents).into_iter();
            checks.map(|check| check.verdict).collect::<Vec<_>>()
        };
        assert_eq!(verdicts(Agents::WithDaemons), [Verdict::Ok; 2]);
        assert_eq!(verdicts(Agents::OnInstances), [Verdict::Failed; 2]);
        assert_eq!(
            verdicts(Agents::Elsewhere("other".to_owned())),
            [Verdict::Ok; 2]
        );
    }

    #[test]
    fn the_program_that_instances_fetch_must_be_uploaded() {
        let chosen = "ab".to_owned();
        let verdict = |found: &[&str], agents: &Agents, chosen: Option<&String>| {
            let found: Vec<String> = found.iter().map(|one| (*one).to_owned()).collect();
            uploaded("program", &found, "arm64", agents, chosen).verdict
        };
        let instances = &Agents::OnInstances;
        assert_eq!(verdict(&[], instances, None), Verdict::Failed);
        assert_eq!(verdict(&["cd"], instances, None), Verdict::Ok);
        assert_eq!(verdict(&["cd"], instances, Some(&chosen)), Verdict::Failed);
        assert_eq!(
            verdict(&["cd", "ab"], instances, Some(&chosen)),
            Verdict::Ok
        );
        assert_eq!(verdict(&[], &Agents::WithDaemons, None), Verdict::Warning);
    }

    #[test]
    fn an_image_of_ones_own_is_taken_as_it_is_and_judges_no_program() {
        let image = |image: &str| Line {
            found: Some(image.to_owned()),
            ..line("launch template", "image", Standing::Change)
        };
        let own = [image("ami-0123456789abcdef0")];
        assert_eq!(own_image(&own), Some("ami-0123456789abcdef0"));
        assert_eq!(verdicts(&own), [("launch template", Verdict::Ok, 0)]);
        let amazons = [image(
            "resolve:ssm:/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-arm64",
        )];
        assert_eq!(own_image(&amazons), None);
        assert_eq!(
            verdicts(&amazons),
            [("launch template", Verdict::Warning, 1)]
        );
        let absent = [line("launch template", "image", Standing::Create)];
        assert_eq!(own_image(&absent), None);
    }

    #[test]
    fn an_image_says_which_processors_it_is_for() {
        let of = |image: &str| {
            let image = Line {
                found: Some(image.to_owned()),
                ..line("launch template", "image", Standing::Change)
            };
            is_for_x86_64(&[image])
        };
        assert!(of(
            "resolve:ssm:/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64"
        ));
        assert!(!of(
            "resolve:ssm:/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-arm64"
        ));
        assert!(!of("ami-0123456789abcdef0"));
    }
}
