//! Ways out by network: none, or through the proxy by its rules.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use rat_things::backend::local::sandbox::proxy::Reach;
use rat_things::engine::ports::{EnvironmentError, Environments, ExecHow, Network};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::world::{Sandbox, World, shell, spec};

/// A server on the machine's loopback that keeps every request and answers with `hello`.
struct Server {
    port: u16,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    async fn start() -> Server {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .expect("binds");
        let port = listener.local_addr().expect("bound").port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&requests);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let kept = Arc::clone(&kept);
                tokio::spawn(async move {
                    let mut all = Vec::new();
                    let mut chunk = [0; 4096];
                    // Until a request is complete: heads only, or the body that ends with END.
                    while let Ok(n) = stream.read(&mut chunk).await
                        && n > 0
                    {
                        all.extend_from_slice(&chunk[..n]);
                        let text = String::from_utf8_lossy(&all).into_owned();
                        if text.ends_with("\r\n\r\n") && !text.contains("Content-Length")
                            || text.ends_with("END")
                        {
                            kept.lock().expect("not poisoned").push(text);
                            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
                            let _ = stream.write_all(answer.as_bytes()).await;
                            return;
                        }
                    }
                });
            }
        });
        Server { port, requests }
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("not poisoned").clone()
    }
}

/// `allowed.test` and names below `sub.test` are on this machine's loopback; `private.test` is where a careless resolver would lead.
fn reach() -> Reach {
    Reach::new(
        |name| {
            Box::pin(async move {
                match name.as_str() {
                    "allowed.test" | "a.sub.test" | "other.test" => {
                        Ok(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)])
                    }
                    "private.test" => Ok(vec![
                        "10.0.0.1".parse().expect("ip"),
                        "169.254.169.254".parse().expect("ip"),
                    ]),
                    _ => Err(std::io::Error::other("no such name")),
                }
            })
        },
        |ip| ip == IpAddr::V4(Ipv4Addr::LOCALHOST),
    )
}

fn world(reach: Reach) -> World {
    let mut world = World::new();
    world.environments = world.environments.with_reach(reach);
    world
}

fn restricted(domains: &[&str]) -> Network {
    Network::Restricted {
        allowed_domains: domains.iter().map(|d| (*d).to_owned()).collect(),
    }
}

/// Sends raw bytes to the proxy from inside and returns all that comes back.
async fn ask(sandbox: &Sandbox, request: &str) -> String {
    let mut script = shell("exec 3<>/dev/tcp/127.0.0.1/3128; cat >&3; timeout 20 cat <&3");
    script.stdin = Bytes::from(request.to_owned());
    let end = sandbox.exec(script).await;
    assert!(matches!(end.how, ExecHow::Exited(_)), "{end:?}");
    end.output
}

async fn can_connect(sandbox: &Sandbox, to: &str) -> bool {
    let script = format!("exec 3<>/dev/tcp/{to}");
    sandbox.run(&script).await.how == ExecHow::Exited(0)
}

#[tokio::test]
async fn without_network_there_is_only_the_sandboxes_own_loopback() {
    let server = Server::start().await;
    let world = World::new();
    let sandbox = world.sandbox().await;
    assert_eq!(
        sandbox.ok("tail -n +3 /proc/net/dev | cut -d: -f1").await,
        "lo"
    );
    for to in [
        format!("127.0.0.1/{}", server.port),
        "127.0.0.1/3128".to_owned(),
        "169.254.169.254/80".to_owned(),
        "fd00:ec2::254/80".to_owned(),
        "1.1.1.1/443".to_owned(),
    ] {
        assert!(!can_connect(&sandbox, &to).await, "{to}");
    }
    assert_ne!(
        sandbox.run("getent hosts example.com").await.how,
        ExecHow::Exited(0)
    );
    // A server of the sandbox's own can be reached, by the sandbox.
    let own = "perl -MIO::Socket::INET -e '
        my $s = IO::Socket::INET->new(Listen => 1, LocalAddr => \"127.0.0.1:8080\") or die;
        if (fork) { my $c = $s->accept; print $c \"own\\n\"; close $c; exit } close $s;
        my $c = IO::Socket::INET->new(\"127.0.0.1:8080\") or die; print <$c>'";
    assert_eq!(sandbox.ok(own).await, "own");
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn abstract_sockets_of_the_machine_do_not_exist() {
    use std::os::linux::net::SocketAddrExt;
    let name = format!("rat-things-test-{}", spec(Network::Disabled).id);
    let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).expect("a name");
    let _listener = std::os::unix::net::UnixListener::bind_addr(&address).expect("binds");
    std::os::unix::net::UnixStream::connect_addr(&address).expect("it is there, outside");
    let world = world(reach());
    let sandbox = world.sandbox().await;
    let connect = format!(
        "use Socket; socket(my $s, AF_UNIX, SOCK_STREAM, 0) or die; \
         connect($s, pack('S a*', AF_UNIX, \"\\0{name}\")) and print 'connected' or print $!+0"
    );
    let end = sandbox
        .exec(super::world::argv(&["perl", "-e", &connect]))
        .await;
    assert_eq!(end.output, libc::ECONNREFUSED.to_string());
}

#[tokio::test]
async fn the_proxy_lets_listed_hosts_through_and_pins_what_they_are_told() {
    let server = Server::start().await;
    let port = server.port;
    let world = world(reach());
    let rules = [format!("allowed.test:{port}"), format!("*.sub.test:{port}")];
    let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
    let sandbox = world.open(&spec(restricted(&rules))).await;
    let get = format!(
        "GET http://Allowed.TEST:{port}/x?y HTTP/1.1\r\nHost: evil.test\r\nAccept: a\r\n\r\n"
    );
    assert!(ask(&sandbox, &get).await.ends_with("\r\n\r\nhello"));
    assert_eq!(
        server.requests(),
        [format!(
            "GET /x?y HTTP/1.1\r\nHost: allowed.test:{port}\r\nConnection: close\r\nAccept: a\r\n\r\n"
        )]
    );
    // A second request behind the first never leaves.
    let twice = format!("{get}GET http://other.test:{port}/ HTTP/1.1\r\n\r\n");
    assert!(ask(&sandbox, &twice).await.ends_with("hello"));
    let post = format!(
        "POST http://a.sub.test:{port}/ HTTP/1.1\r\nContent-Length: 7\r\n\r\nbodyENDGET http://allowed.test:{port}/second HTTP/1.1\r\n\r\n"
    );
    assert!(ask(&sandbox, &post).await.ends_with("hello"));
    let tunnel = format!(
        "CONNECT allowed.test:{port} HTTP/1.1\r\nHost: x\r\n\r\nGET /inside HTTP/1.1\r\n\r\n"
    );
    let answer = ask(&sandbox, &tunnel).await;
    assert!(
        answer.starts_with("HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 200 OK"),
        "{answer}"
    );
    let requests = server.requests();
    assert_eq!(requests.len(), 4);
    assert!(requests[2].ends_with("\r\n\r\nbodyEND"));
    assert_eq!(requests[3], "GET /inside HTTP/1.1\r\n\r\n");
    // Programs find it by their variables.
    assert_eq!(
        sandbox.ok("echo $https_proxy $HTTP_PROXY $no_proxy").await,
        "http://127.0.0.1:3128 http://127.0.0.1:3128 localhost,127.0.0.1,::1"
    );
    // Nobody in there can take it away, and there is no way around it.
    sandbox.run("(kill -9 -1)").await;
    assert!(ask(&sandbox, &get).await.ends_with("hello"));
    assert!(!can_connect(&sandbox, &format!("127.0.0.1/{port}")).await);
    assert!(!can_connect(&sandbox, "1.1.1.1/443").await);
}

#[tokio::test]
async fn the_proxy_refuses_everything_else() {
    let server = Server::start().await;
    let port = server.port;
    let world = world(reach());
    let rules = [
        format!("allowed.test:{port}"),
        "private.test".to_owned(),
        "unknown.test".to_owned(),
    ];
    let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
    let sandbox = world.open(&spec(restricted(&rules))).await;
    let forbidden = [
        format!("other.test:{port}"),
        format!("xallowed.test:{port}"),
        format!("allowed.test.other.test:{port}"),
        format!("sub.allowed.test:{port}"),
        format!("127.0.0.1:{port}"),
        format!("[::1]:{port}"),
        format!("[::ffff:127.0.0.1]:{port}"),
        "allowed.test:22".to_owned(),
        // Allowed by name, but it leads to a private place.
        "private.test:80".to_owned(),
    ];
    let malformed = [
        format!("allowed.test:{port}@other.test:{port}"),
        format!("user@allowed.test:{port}"),
        format!("other.test:{port}#allowed.test:{port}"),
        format!("other.test:{port}\\@allowed.test:{port}"),
        format!("2130706433:{port}"),
        format!("0x7f000001:{port}"),
        format!("0177.0.0.1:{port}"),
        format!("127.1:{port}"),
        format!("allowed.test%00.other.test:{port}"),
        "allowed.test:0".to_owned(),
    ];
    for (authorities, status) in [(&forbidden[..], "403"), (&malformed[..], "400")] {
        for authority in authorities {
            for request in [
                format!("CONNECT {authority} HTTP/1.1\r\n\r\n"),
                format!("GET http://{authority}/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n"),
            ] {
                let answer = ask(&sandbox, &request).await;
                assert!(
                    answer.starts_with(&format!("HTTP/1.1 {status} ")),
                    "{request:?}: {answer}"
                );
            }
        }
    }
    for request in [
        format!("GET / HTTP/1.1\r\nHost: allowed.test:{port}\r\n\r\n"),
        format!("GET https://allowed.test:{port}/ HTTP/1.1\r\n\r\n"),
        format!("GET http://allowed.test:{port}/ HTTP/1.1\r\nA: b\nHost: other.test\r\n\r\n"),
        format!(
            "POST http://allowed.test:{port}/ HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"
        ),
    ] {
        let answer = ask(&sandbox, &request).await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{request:?}: {answer}");
    }
    assert!(
        ask(&sandbox, "CONNECT unknown.test:443 HTTP/1.1\r\n\r\n")
            .await
            .starts_with("HTTP/1.1 502 ")
    );
    assert_eq!(server.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn a_name_is_resolved_once_and_only_checked_addresses_are_dialled() {
    let server = Server::start().await;
    let look_ups = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&look_ups);
    let world = world(Reach::new(
        move |_| {
            // The first answer is harmless; a second look-up would be led elsewhere.
            let first = counted.fetch_add(1, Ordering::SeqCst) == 0;
            let address = if first {
                Ipv4Addr::LOCALHOST
            } else {
                Ipv4Addr::new(10, 0, 0, 1)
            };
            Box::pin(async move { Ok(vec![Ipv4Addr::new(10, 0, 0, 1).into(), address.into()]) })
        },
        |ip| ip == IpAddr::V4(Ipv4Addr::LOCALHOST),
    ));
    let sandbox = world.open(&spec(Network::Enabled)).await;
    let get = format!("GET http://changes.test:{}/ HTTP/1.1\r\n\r\n", server.port);
    assert!(ask(&sandbox, &get).await.ends_with("hello"));
    assert_eq!(look_ups.load(Ordering::SeqCst), 1);
    assert!(ask(&sandbox, &get).await.starts_with("HTTP/1.1 403 "));
}

#[tokio::test]
async fn enabled_means_the_public_internet_and_not_this_machine() {
    let server = Server::start().await;
    let port = server.port;
    let world = World::new();
    let sandbox = world.open(&spec(Network::Enabled)).await;
    for authority in [
        format!("127.0.0.1:{port}"),
        format!("[::1]:{port}"),
        format!("[::ffff:127.0.0.1]:{port}"),
        format!("0.0.0.0:{port}"),
        "169.254.169.254:80".to_owned(),
        "[fd00:ec2::254]:80".to_owned(),
        "[64:ff9b::a9fe:a9fe]:80".to_owned(),
        "[2002:a9fe:a9fe::1]:80".to_owned(),
        "100.100.100.200:80".to_owned(),
        "168.63.129.16:80".to_owned(),
        "192.168.0.1:80".to_owned(),
        format!("localhost:{port}"),
    ] {
        let answer = ask(&sandbox, &format!("CONNECT {authority} HTTP/1.1\r\n\r\n")).await;
        assert!(answer.starts_with("HTTP/1.1 403 "), "{authority}: {answer}");
    }
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn a_policy_that_cannot_be_understood_opens_nothing() {
    let world = World::new();
    let refused = world
        .environments
        .open(&spec(restricted(&["http://example.com"])))
        .await
        .err();
    let message =
        "not an allowed domain: \"http://example.com\" (write host, host:port or *.domain)";
    assert_eq!(refused, Some(EnvironmentError::Failed(message.to_owned())));
    assert!(!world.root().exists());
}

#[tokio::test]
async fn connections_end_with_the_environment() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .await
        .expect("binds");
    let port = listener.local_addr().expect("bound").port();
    let world = world(reach());
    let sandbox = world
        .open(&spec(restricted(&[&format!("allowed.test:{port}")])))
        .await;
    let mut script =
        shell("exec 3<>/dev/tcp/127.0.0.1/3128; cat >&3; echo sent; cat <&3; sleep 1000");
    script.stdin = Bytes::from(format!("CONNECT allowed.test:{port} HTTP/1.1\r\n\r\n"));
    let mut begun = sandbox.begin(script);
    begun.says("established").await;
    let (mut stream, _) = listener.accept().await.expect("connected");
    sandbox.environment.close().await;
    let mut rest = Vec::new();
    let ended = tokio::time::timeout(super::world::PATIENCE, stream.read_to_end(&mut rest)).await;
    assert!(ended.is_ok());
}
