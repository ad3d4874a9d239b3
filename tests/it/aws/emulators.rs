//! The emulators of this test process: started once, on ports of their own, and ended with it.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType,
};
use aws_sdk_s3::types::{
    BucketLocationConstraint, BucketVersioningStatus, CreateBucketConfiguration,
    VersioningConfiguration,
};
use rat_things::backend::aws::client::{AwsClients, AwsOptions};
use rat_things::backend::aws::store::Places;

const REGION: &str = "eu-west-1";
/// How long an emulator may take to start on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// A table and a bucket of one test.
pub(crate) struct Place {
    pub(crate) places: Places,
    /// Whose requests are counted.
    pub(crate) clients: AwsClients,
    /// For clients with other counters.
    pub(crate) options: AwsOptions,
    /// Where DynamoDB is.
    pub(crate) dynamodb: SocketAddr,
    /// The same for clients.
    pub(crate) dynamodb_url: String,
    /// Where all else is.
    pub(crate) others: SocketAddr,
    /// The same for clients.
    pub(crate) others_url: String,
}

struct Emulators {
    dynamodb: SocketAddr,
    s3: SocketAddr,
    /// They end when these are closed, which happens with this process, however it ends.
    _lives: [ChildStdin; 2],
}

/// A new table and a new, versioned bucket.
pub(crate) fn place() -> Place {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    static RUNNING: OnceLock<Emulators> = OnceLock::new();
    let running = RUNNING.get_or_init(start);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let (dynamodb, others) = (running.dynamodb, running.s3);
    let dynamodb_url = format!("http://{dynamodb}");
    let others_url = format!("http://{others}");
    let options = AwsOptions {
        region: Some(REGION.to_owned()),
        dynamodb_url: Some(dynamodb_url.clone()),
        endpoint_url: Some(others_url.clone()),
        credentials: Some(("test".to_owned(), "test".to_owned())),
        ..AwsOptions::default()
    };
    let places = Places {
        table: format!("rat-things-{number}"),
        bucket: format!("rat-things-{number}"),
        kms_key: None,
    };
    // A runtime of its own, because whoever asks may be on one.
    let made = std::thread::spawn(move || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let connect = async || AwsClients::connect(&options).await.expect("a region");
            // Connections end with this runtime, so that those of the test are made by other clients.
            make(&connect().await, &places).await;
            let clients = connect().await;
            Place {
                places,
                clients,
                options,
                dynamodb,
                dynamodb_url,
                others,
                others_url,
            }
        })
    });
    made.join().expect("a table and a bucket")
}

async fn make(clients: &AwsClients, places: &Places) {
    let attribute = |name: &str| {
        let attribute = AttributeDefinition::builder().attribute_name(name);
        let attribute = attribute.attribute_type(ScalarAttributeType::S);
        attribute.build().expect("an attribute")
    };
    let key = |name: &str, kind| {
        let key = KeySchemaElement::builder().attribute_name(name);
        key.key_type(kind).build().expect("a key")
    };
    let table = clients
        .dynamodb()
        .create_table()
        .table_name(&places.table)
        .billing_mode(BillingMode::PayPerRequest)
        .attribute_definitions(attribute("p"))
        .attribute_definitions(attribute("s"))
        .key_schema(key("p", KeyType::Hash))
        .key_schema(key("s", KeyType::Range));
    table.send().await.expect("a table");
    let here = CreateBucketConfiguration::builder()
        .location_constraint(BucketLocationConstraint::from(REGION))
        .build();
    let s3 = clients.s3();
    let bucket = s3.create_bucket().bucket(&places.bucket);
    let bucket = bucket.create_bucket_configuration(here);
    bucket.send().await.expect("a bucket");
    let versions = VersioningConfiguration::builder()
        .status(BucketVersioningStatus::Enabled)
        .build();
    let versions = s3
        .put_bucket_versioning()
        .bucket(&places.bucket)
        .versioning_configuration(versions);
    versions.send().await.expect("versions");
}

fn start() -> Emulators {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../emulators");
    let (dynamodb, s3) = (free_address(), free_address());
    let mut dynoxide = program(&root, "bin/dynoxide");
    dynoxide.args(["serve", "--port", &dynamodb.port().to_string()]);
    let mut ministack = program(&root, "venv/bin/ministack");
    ministack
        .env("BIND_HOST", "127.0.0.1")
        .env("GATEWAY_PORT", s3.port().to_string());
    let lives = [live(dynoxide), live(ministack)];
    for address in [dynamodb, s3] {
        wait(address);
    }
    Emulators {
        dynamodb,
        s3,
        _lives: lives,
    }
}

/// A second opinion on EC2, started once as the others are.
pub(crate) fn moto() -> SocketAddr {
    static RUNNING: OnceLock<(SocketAddr, ChildStdin)> = OnceLock::new();
    let running = RUNNING.get_or_init(|| {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../emulators");
        let address = free_address();
        let mut moto = program(&root, "moto/bin/moto_server");
        moto.args(["-H", "127.0.0.1", "-p", &address.port().to_string()]);
        let life = live(moto);
        wait(address);
        (address, life)
    });
    running.0
}

/// Until somebody listens there.
fn wait(address: SocketAddr) {
    let begun = Instant::now();
    while TcpStream::connect(address).is_err() {
        assert!(begun.elapsed() < LONG, "nothing listens on {address}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A shell that waits for its input to end, and then ends the program.
fn program(root: &Path, path: &str) -> Command {
    let path: PathBuf = root.join(path);
    assert!(
        path.exists(),
        "{} is missing: tests/emulators/install puts it there, and ./check runs that",
        path.display()
    );
    let mut shell = Command::new("sh");
    shell
        .args([
            "-c",
            r#""$0" "$@" </dev/null >/dev/null 2>&1 & read -r _; kill $!"#,
        ])
        .arg(path)
        .current_dir(root);
    shell
}

fn live(mut program: Command) -> ChildStdin {
    let mut child = program.stdin(Stdio::piped()).spawn().expect("it starts");
    let life = child.stdin.take().expect("its input is a pipe");
    // It ends behind this process, or is waited for.
    std::thread::spawn(move || child.wait());
    life
}

fn free_address() -> SocketAddr {
    let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    socket.local_addr().expect("an address")
}
