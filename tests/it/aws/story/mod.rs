//! The whole story of workers on machines: the real program as daemon, on instances of the stand-in that boot as machines of their own and run
//! their user data, over emulators.

mod account;
mod ends;
mod hostile;
mod losses;
mod work;
