mod bounds;
mod broken;
pub mod far;
mod lacking;
mod repeated;
mod same;
mod scripted;
mod tls;
