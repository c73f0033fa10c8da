//! Small models of what several nodes do together, each explored in every state that it reaches:
//! three nodes, few pages and units, every kind of fault at every moment.
//!
//! Each model has a test in which all rules hold, and for each rule of the design one in which it
//! does not: that one finds the shortest way to a wrong bill, a lost page or a crawl that never
//! ends, and prints it.

mod crawl;
mod explore;
mod failover;
mod hosts;
mod money;
mod seats;
