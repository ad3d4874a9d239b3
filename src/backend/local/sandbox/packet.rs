//! One packet over a `SOCK_SEQPACKET` socket, with descriptors beside it. Blocks or not as the socket does.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use super::wire::MAX_FDS;

/// A packet that was received.
pub(super) struct Received {
    /// Its length; 0 means that the other end is closed.
    pub(super) size_bytes: usize,
    /// What travelled beside it, close-on-exec.
    pub(super) fds: Vec<OwnedFd>,
}

/// Sends one packet whole. At most [`MAX_FDS`] descriptors.
pub(super) fn send(socket: impl AsFd, packet: &[u8], fds: &[BorrowedFd<'_>]) -> Result<(), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !beside.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(Errno::TOOBIG);
    }
    let data = [IoSlice::new(packet)];
    rustix::io::retry_on_intr(|| sendmsg(&socket, &data, &mut beside, SendFlags::NOSIGNAL))
        .map(drop)
}

/// Receives one packet into `buffer`. A packet or its descriptors cut short is an error.
pub(super) fn receive(socket: impl AsFd, buffer: &mut [u8]) -> Result<Received, Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let mut data = [IoSliceMut::new(buffer)];
    let got = rustix::io::retry_on_intr(|| {
        recvmsg(&socket, &mut data, &mut beside, RecvFlags::CMSG_CLOEXEC)
    })?;
    let mut fds = Vec::new();
    for message in beside.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            fds.extend(rights);
        }
    }
    if got
        .flags
        .intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC)
    {
        return Err(Errno::MSGSIZE);
    }
    Ok(Received {
        size_bytes: got.bytes,
        fds,
    })
}
