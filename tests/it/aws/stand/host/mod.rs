//! A host for instances: each that is launched boots as a machine of its own, in namespaces of this system, and runs its user data.
//!
//! A machine sees its own processes, its own loopback and nothing else of the network, and writes into memory. On its loopback are the
//! metadata service and ways to the emulators, both served by threads of this process. Nothing has a name outside of it and nothing is left
//! behind, however this process ends: the kernel ends a machine with the process that started it, and its namespaces with the machine.
//!
//! Unlike EC2: no hop limit of the metadata service, no graceful time before an instance that is terminated is off, and the image is this
//! system.

mod gate;
mod machine;
mod metadata;
mod relay;
pub(crate) mod tests;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use self::machine::Machine;
use super::ec2::{Ec2, Ended, Power, Region};

/// A region whose instances are machines. They end with it.
pub(crate) struct Host {
    ec2: Ec2,
    machines: Arc<Machines>,
}

/// The machines of a host, by their instances.
struct Machines {
    /// Where machines can get to: addresses on loopback, which are the same for them.
    ways: Vec<SocketAddr>,
    all: Mutex<All>,
}

#[derive(Default)]
struct All {
    machines: BTreeMap<String, Machine>,
    /// No more are started.
    over: bool,
}

impl Host {
    /// With ways from its machines to these addresses on loopback. `Err` says what this system lacks.
    pub(crate) fn start(region: &str, ways: Vec<SocketAddr>) -> Result<Host, String> {
        possible()?;
        let machines = Arc::new(Machines {
            ways,
            all: Mutex::default(),
        });
        let known = Arc::clone(&machines);
        let switch = move |region: &Region, power: Power| match power {
            Power::On(id) => {
                let mut all = locked(&known.all);
                if !all.over {
                    let machine = Machine::boot(&id, region.clone(), known.ways.clone());
                    all.machines.insert(id, machine);
                }
            }
            Power::Off(id) => known.with(&id, |machine| machine.off(Ended::Itself)),
        };
        let ec2 = Ec2::with_machines(region, Box::new(switch));
        let ec2 = ec2.map_err(|e| format!("nothing can listen on loopback: {e}"))?;
        Ok(Host { ec2, machines })
    }

    /// The region's API.
    pub(crate) fn ec2(&self) -> &Ec2 {
        &self.ec2
    }

    /// What an instance runs on fails: its processes are gone at once, and EC2 notices.
    pub(crate) fn kill(&self, id: &str) {
        self.machines.with(id, |machine| machine.off(Ended::Host));
    }

    /// EC2 takes back what was let at the spot price, without another word.
    pub(crate) fn reclaim(&self, id: &str) {
        self.machines
            .with(id, |machine| machine.off(Ended::Reclaimed));
    }

    /// The machine is told that EC2 will take it back soon.
    pub(crate) fn notice(&self, id: &str) {
        self.machines.with(id, Machine::notice);
    }

    /// From now on nothing gets from the machine to anywhere or back. Nobody is told: what is under way waits.
    pub(crate) fn cut(&self, id: &str) {
        self.machines.with(id, |machine| machine.gate.shut());
    }

    /// What waited goes on.
    pub(crate) fn mend(&self, id: &str) {
        self.machines.with(id, |machine| machine.gate.open());
    }

    /// What the machine has said so far.
    pub(crate) fn console(&self, id: &str) -> String {
        self.machines.with(id, Machine::console)
    }
}

impl Machines {
    fn with<T>(&self, id: &str, act: impl FnOnce(&Machine) -> T) -> T {
        let all = locked(&self.all);
        act(all
            .machines
            .get(id)
            .unwrap_or_else(|| panic!("{id} is no machine")))
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // Ended first and waited for then, so that they end at the same time.
        let all = All {
            over: true,
            ..All::default()
        };
        let all = std::mem::replace(&mut *locked(&self.machines.all), all);
        all.machines
            .values()
            .for_each(|machine| machine.off(Ended::Host));
    }
}

/// Whether this system and this user can have machines.
fn possible() -> Result<(), String> {
    let tried = Command::new("unshare")
        .args([
            "--net", "--mount", "--pid", "--fork", "ip", "link", "set", "lo", "up",
        ])
        .output();
    match tried {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!(
            "machines take root and iproute2: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        )),
        Err(e) => Err(format!("unshare (util-linux) can't be run: {e}")),
    }
}

/// A test that failed while it held the lock has said so already.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
