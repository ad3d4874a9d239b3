mod bounds;
mod broken;
mod far;
mod lacking;
mod repeated;
mod same;
mod scripted;
mod tls;
